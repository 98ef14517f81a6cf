// SPDX-License-Identifier: Apache-2.0
/**
 * The scale of a map: which value has which of the palette's steps. A scale is chosen for a head from numbers of that
 * head, and always written beside the picture.
 */
import { formatValue } from "./format.js";
import { type Colormap, kInfinite, kMinusInfinite, kNaN, kSteps } from "./palette.js";

/**
 * The choices of a reader. `auto` is `fixed` for maps of at most kSmall keys and `head` above; `fixed` is 0 to 1, or
 * all that given arrays have; `head` ends at the 95th percentile of the largest weights of the head's rows; `row` ends
 * at the largest weight of each row; `log` has four powers of ten below the head's largest weight.
 */
export const kScales = ["auto", "fixed", "head", "row", "log"] as const;
/** A number is the end of a fixed scale. */
export type ScaleChoice = (typeof kScales)[number] | number;

/** The end that a state gives a fixed scale, if it does. Throws an Error that says what does not fit. */
export function endOf(scale: string, range: number): number | undefined {
  if (!(range >= 0) || range === Infinity) throw new Error(`range: ${range} is not a number from 0 on, the end of the scale`);
  if (range > 0 && scale !== "auto" && scale !== "fixed")
    throw new Error(`range: ${range} is the end of the scale "fixed", and "${scale}" has ends of its own`);
  return range > 0 ? range : undefined;
}

const kSmall = 32;
const kDecades = 4;
const kPercentile = 0.95;

/** The numbers of a head from which its scale is chosen. */
export interface HeadFacts {
  /** The largest value of each row, by its magnitude where there are negative ones. */
  readonly largest: Float32Array;
  /** The number of keys that each query may look at. */
  readonly keys: Float32Array;
  /** True where values may be negative, as in given scores. */
  readonly signed: boolean;
}

export interface Scale {
  readonly kind: Exclude<(typeof kScales)[number], "auto">;
  readonly colormap: Colormap;
  readonly min: number;
  readonly max: number;
  /** The largest value of each row, for `row`. */
  readonly rows?: Float32Array;
  /** True where values are beyond the ends, and have the colours of these. */
  readonly isExceeded?: boolean;
}

/** The largest value below which 95 % of the rows stay that have a choice of keys. */
function usualLargest({ largest, keys }: HeadFacts): number {
  const rows = largest.filter((value, row) => (keys[row] ?? 0) > 1 && Number.isFinite(value)).map(Math.abs).sort();
  const all = rows.length > 0 ? rows : largest.filter(Number.isFinite).map(Math.abs).sort();
  return all[Math.ceil(kPercentile * all.length) - 1] ?? 0;
}

function mostOf({ largest }: HeadFacts): number {
  return largest.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
}

/** Chooses the scale of one head. `fixed` finds the end of the fixed scale, which takes long in large arrays. */
export function scaleOf(choice: ScaleChoice, facts: HeadFacts, keyCount: number, fixed: () => number): Scale {
  const colormap = facts.signed ? "diverging" : "sequential";
  if (typeof choice === "number")
    return { kind: "fixed", colormap, min: facts.signed ? -choice : 0, max: choice, isExceeded: mostOf(facts) > choice };
  const kind = choice === "auto" ? (keyCount <= kSmall ? "fixed" : "head") : choice;
  const most = kind === "fixed" ? fixed() : kind === "head" ? usualLargest(facts) : mostOf(facts);
  const max = most > 0 ? most : 1;
  const min = facts.signed ? -max : kind === "log" ? max / 10 ** kDecades : 0;
  return { kind, colormap, min, max, ...(kind === "row" && { rows: facts.largest }) };
}

/**
 * The shape of a scale between its ends. Weights have a square-root ramp, in which small ones can be told from zero;
 * with negative values the ramp is linear.
 */
export type Ramp = "root" | "linear" | "log";

export function rampOf({ colormap, kind }: Scale): Ramp {
  if (colormap === "diverging") return "linear";
  return kind === "log" ? "log" : "root";
}

/** The end of the scale in a row. */
export function mostOfRow({ rows, max }: Scale, row: number): number {
  return Math.abs(rows?.[row] ?? max) || max;
}

function placeIn(ramp: Ramp, value: number, max: number): number {
  if (ramp === "root") return value > 0 ? Math.sqrt(value / max) : value / max;
  if (ramp === "linear") return 0.5 + (0.5 * value) / max;
  return value > 0 ? 1 + Math.log10(value / max) / kDecades : 0;
}

/** The place of a value on the scale, from 0 to 1, and outside for values that are. */
export const placeOf = (scale: Scale, value: number, row = -1): number =>
  placeIn(rampOf(scale), value, mostOfRow(scale, row));

/** The value at a place of the scale. */
export function valueAt({ kind, colormap, max }: Scale, place: number): number {
  if (colormap === "diverging") return (2 * place - 1) * max;
  return kind === "log" ? max * 10 ** ((place - 1) * kDecades) : place * place * max;
}

/** The palette's code of a value, on a ramp that ends at `max`. */
export function codeIn(ramp: Ramp, value: number, max: number): number {
  // Nearly all cells are weights on this ramp, and a page draws 100,000 of them at a time.
  if (ramp === "root" && value > 0 && value < max) return (Math.sqrt(value / max) * (kSteps - 1) + 0.5) | 0;
  if (Number.isFinite(value)) {
    const place = placeIn(ramp, value, max);
    return place >= 1 ? kSteps - 1 : place > 0 ? Math.round(place * (kSteps - 1)) : 0;
  }
  if (Number.isNaN(value)) return kNaN;
  return value > 0 ? kInfinite : kMinusInfinite;
}

/** Enough digits to tell the ends of the scale from each other. */
export function formatOn({ max }: Scale, value: number): string {
  if (Number.isInteger(value)) return formatValue(value, 0);
  const digits = max >= 20 ? 0 : max >= 0.2 ? 2 : Math.min(2 - Math.floor(Math.log10(max)), 20);
  if (Math.abs(value) < 10 ** -digits) return value.toExponential(0).replace("-", "−");
  return formatValue(value, digits);
}

/** The scale in words, as it is written beside the picture: "0 – 0.08, this head". */
export function scaleInWords(scale: Scale): string {
  const [from, to] = [formatOn(scale, scale.min), formatOn(scale, scale.max)];
  switch (scale.kind) {
    case "fixed":
      return scale.isExceeded ? `${from} – ${to}, and beyond` : `${from} – ${to}`;
    case "head":
      return `${from} – ${to}, this head`;
    case "row":
      return scale.colormap === "diverging" ? "each row by its own largest" : "0 – the largest of each row";
    case "log":
      return scale.colormap === "diverging" ? `${from} – ${to}` : `${from} – ${to}, logarithmic`;
  }
}
