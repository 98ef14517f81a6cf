// SPDX-License-Identifier: Apache-2.0

/**
 * The style of a cell with one of a map's colours (RGBA): `--tint` for the background, and `--ink-on-tint` for black or
 * white text, whichever is easier to read on it.
 */
export function tintStyle([red = 0, green = 0, blue = 0, alpha = 0]: ArrayLike<number> & Iterable<number>): string {
  if (alpha === 0) return "";
  return `--tint: rgb(${red} ${green} ${blue}); --ink-on-tint: ${isDark([red, green, blue]) ? "#fff" : "#000"}`;
}

/** True for a colour on which white is easier to read than black. */
export const isDark = ([red = 0, green = 0, blue = 0]: Iterable<number>): boolean =>
  luminance(red, green, blue) < 0.179;

/** The relative luminance of WCAG. At 0.179, black and white have the same contrast. */
function luminance(red: number, green: number, blue: number): number {
  const linear = (byte: number): number => (byte <= 10 ? byte / 3294 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
