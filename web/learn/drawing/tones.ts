// SPDX-License-Identifier: Apache-2.0
/**
 * The colours of cells as classes of a style sheet, since pages that must look right without scripts, and under a policy
 * without inline styles, can have no others. They are steps of the palettes of the maps.
 */
import { unsafeCSS } from "lit";
import type { CSSResult } from "lit";
import { isDark } from "../../maps/ink.js";
import { paletteOf, kSteps, type Colormap } from "../../maps/palette.js";

const kTones = 32;

/** The largest magnitude among finite numbers, or 0. */
export const largestMagnitude = (values: Float32Array): number =>
  values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);

/** The place of a value among a palette's colours, from 0 to 1. Diverging values are divided by `most`, the largest magnitude around them. */
export function shareOf(value: number, colormap: Colormap, most: number): number {
  return Math.min(Math.max(colormap === "sequential" ? value : (value / (most || 1) + 1) / 2, 0), 1);
}

/** The class of a value, or of none. */
export function toneOf(value: number, colormap: Colormap, most: number): string {
  if (!Number.isFinite(value)) return "";
  return `${colormap === "sequential" ? "w" : "d"}${Math.round(kTones * shareOf(value, colormap, most))}`;
}

/** A reader's own colours do not take the place of those that are numbers. */
const kKept = "forced-color-adjust:none";

function rules(letter: string, colormap: Colormap): string {
  const [light, dark] = (["light", "dark"] as const).map((theme) => paletteOf(colormap, theme).bytes);
  return Array.from({ length: kTones + 1 }, (_, tone) => {
    const first = Math.round((tone / kTones) * (kSteps - 1)) * 4;
    const [day = [], night = []] = [light, dark].map((bytes) => [...(bytes?.subarray(first, first + 3) ?? [])]);
    const hex = (color: readonly number[]): string => `#${color.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    const ink = (color: readonly number[]): string => (isDark(color) ? "#fff" : "#000");
    return `.${letter}${tone}{background:light-dark(${hex(day)},${hex(night)});color:light-dark(${ink(day)},${ink(night)});${kKept}}`;
  }).join("");
}

/** One rule for each class. */
export const toneStyles = (): CSSResult => unsafeCSS(rules("w", "sequential") + rules("d", "diverging"));
