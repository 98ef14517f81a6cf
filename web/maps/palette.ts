// SPDX-License-Identifier: Apache-2.0
/**
 * The colours of maps: 256 steps from the smallest to the largest value, and one for each kind of cell that has no
 * place among them. They are the engine's own colours (core/src/maps/image.cc), which a test holds.
 */

import { type Rgb, rgbOf } from "./color.js";

export type Theme = "light" | "dark";
export type Colormap = "sequential" | "diverging";

export const kSteps = 256;

/** The codes of cells whose value has no place on a scale. Codes below kSteps are steps of the palette. */
export const kMasked = kSteps;
export const kNaN = kSteps + 1;
export const kInfinite = kSteps + 2;
export const kMinusInfinite = kSteps + 3;
export const kUnknown = kSteps + 4;
const kCodes = kSteps + 5;

/** A colour in OKLab by lightness, chroma and hue (degrees). */
type Oklch = readonly [lightness: number, chroma: number, hue: number];

/** Converts OKLab to sRGB (Ottosson 2020, "A perceptual color space for image processing"). */
function toRgb([lightness, chroma, hue]: Oklch): [number, number, number] {
  const radians = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(radians), chroma * Math.sin(radians)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const byte = (linear: number): number => {
    const x = Math.min(Math.max(linear, 0), 1);
    return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
  };
  return [
    byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    byte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Converts sRGB to OKLab. */
export function toLab(color: Rgb): readonly [lightness: number, a: number, b: number] {
  const linear = (byte: number): number => (byte <= 10 ? byte / 3294 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = color.map(linear) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** The straight way from one colour to another, which looks even. */
function between(from: string, to: string, t: number): Oklch {
  const [start, end] = [toLab(rgbOf(from)), toLab(rgbOf(to))];
  const mix = (i: 0 | 1 | 2): number => start[i] + t * (end[i] - start[i]);
  const [lightness, a, b] = [mix(0), mix(1), mix(2)];
  return [lightness, Math.hypot(a, b), (Math.atan2(b, a) * 180) / Math.PI];
}

/** Blends two colours. Lightness and hue change evenly, and chroma rises by up to `swell` in between, inside sRGB. */
function blend(from: Oklch, to: Oklch, t: number, swell: number): Oklch {
  const chroma = from[1] + t * (to[1] - from[1]) + swell * Math.sin(Math.PI * t);
  return [from[0] + t * (to[0] - from[0]), chroma, from[2] + t * (to[2] - from[2])];
}

/** From the background through teal to navy, or in the dark to pale yellow. */
function sequential(theme: Theme, t: number): Oklch {
  return theme === "light"
    ? blend([0.975, 0.012, 200], [0.27, 0.085, 268], t, 0.075)
    : blend([0.21, 0.025, 265], [0.94, 0.12, 104], t, 0.02);
}

/** Orange for negative and blue for positive values, which meet in the background. */
function diverging(theme: Theme, t: number): Oklch {
  const strength = Math.abs(2 * t - 1);
  const hue = t < 0.5 ? 50 : 255;
  return theme === "light"
    ? [0.975 - 0.475 * strength, 0.13 * strength, hue]
    : [0.23 + 0.52 * strength, 0.13 * strength, hue];
}

/** The colours of what stands around maps: text, names, lines, the ground, and the pattern of cells without a colour. */
export const kSurroundings = {
  light: { ink: "#16191d", faint: "#5b636c", line: "#d5dadf", paper: "#ffffff", stripe: "#d3d9df" },
  dark: { ink: "#e8eaee", faint: "#9aa3ad", line: "#343a44", paper: "#12151b", stripe: "#333a45" },
} as const satisfies Record<Theme, object>;

/** NaN and ±∞ in colours that neither ramp has: magenta, and two that differ from it and from each other in lightness. */
const kOdd: Readonly<Record<Theme, readonly (readonly [number, number, number])[]>> = {
  light: [
    [208, 0, 130],
    [64, 0, 44],
    [240, 150, 205],
  ],
  dark: [
    [255, 70, 180],
    [255, 205, 235],
    [130, 0, 84],
  ],
};

/** The colours of a page's own, in CSS: of the smallest and the largest weight, and of the most negative value. */
export interface Ends {
  readonly low: string;
  readonly high: string;
  readonly negative: string;
}

function ofEnds({ low, high, negative }: Ends, colormap: Colormap, t: number): Oklch {
  if (colormap === "sequential") return between(low, high, t);
  return t < 0.5 ? between(low, negative, 1 - 2 * t) : between(low, high, 2 * t - 1);
}

export interface Palette {
  readonly theme: Theme;
  readonly colormap: Colormap;
  /** RGBA of each code, four bytes each. Masked cells are transparent, so that what lies below shows through, and so are unknown ones. */
  readonly bytes: Uint8ClampedArray;
  /** The same colours as numbers for a Uint32Array over the pixels of a picture. */
  readonly pixels: Uint32Array;
}

function makePalette(colormap: Colormap, theme: Theme, ends: Ends | undefined): Palette {
  const bytes = new Uint8ClampedArray(kCodes * 4);
  const ramp = colormap === "sequential" ? sequential : diverging;
  const at = (t: number): Oklch => (ends ? ofEnds(ends, colormap, t) : ramp(theme, t));
  for (let step = 0; step < kSteps; step++) bytes.set([...toRgb(at(step / (kSteps - 1))), 255], step * 4);
  kOdd[theme].forEach((color, index) => bytes.set([...color, 255], (kNaN + index) * 4));
  return { theme, colormap, bytes, pixels: new Uint32Array(bytes.buffer) };
}

const palettes = new Map<string, Palette>();

/** The same object for the same colours. */
export function paletteOf(colormap: Colormap, theme: Theme, ends?: Ends): Palette {
  const key = [colormap, theme, ends?.low, ends?.high, ends?.negative].join();
  const palette = palettes.get(key) ?? makePalette(colormap, theme, ends);
  palettes.set(key, palette);
  return palette;
}
