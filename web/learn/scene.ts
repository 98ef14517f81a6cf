// SPDX-License-Identifier: Apache-2.0
/** The parts that figures of lessons are made of, as plain data. The folder drawing/ draws them. */
import type { Matrix } from "../views/worked-example.js";
import type { Observation } from "./experiments/numbers.js";

/** The content of a figure in one state. */
export interface Scene {
  readonly rows: readonly Row[];
  /** True sentences about the numbers of this state. */
  readonly says: readonly Observation[];
}

/** A line of a figure: a title, a sentence about it, and items side by side. Strings are signs such as “·” and “=”. */
export interface Row {
  readonly title?: string;
  readonly about?: string;
  readonly items: readonly (Item | string)[];
}

export type Item = Table | Sentence | Bars | Curve | Plane | Shape | Picture | Note | View;

/**
 * The way a matrix comes from others, by their names. Pointing at one of its cells lights up what went into it and
 * writes the sum. `product`: row · column. `each`: the same cell of another. `row`: a softmax of the whole row.
 * `transposed`: the cell of another whose row and column are swapped.
 */
export type From =
  | { readonly how: "product"; readonly left: string; readonly right: string }
  | { readonly how: "each"; readonly of: string; words(value: number, result: number): string }
  | { readonly how: "row"; readonly of: string }
  | { readonly how: "transposed"; readonly of: string };

export interface Table {
  readonly kind: "table";
  readonly matrix: Matrix;
  /** Says which cells are masked, row by row. They are hatched. */
  readonly masked?: readonly boolean[];
  readonly from?: From;
  /** The control of kind “cells” that holds these numbers: a reader changes them in their place. */
  readonly control?: string;
  /** The row, column or cell that the lesson is about; −1 stands for all. */
  readonly marked?: { readonly row: number; readonly col: number };
}

/** Words in a row, tinted by weights, with the share in numbers below each. */
export interface Sentence {
  readonly kind: "sentence";
  readonly name: string;
  readonly tokens: readonly string[];
  readonly weights?: readonly number[];
  /** The token that looks. */
  readonly query?: number;
  /** The control (a slider over the tokens) that holds the token that looks: a click on a token chooses it. */
  readonly control?: string;
}

export interface Bars {
  readonly kind: "bars";
  readonly name: string;
  readonly labels: readonly string[];
  readonly values: readonly number[];
  /** The length of a full bar. */
  readonly most?: number;
  readonly digits?: number;
}

/** Lines over one axis. */
export interface Curve {
  readonly kind: "curve";
  readonly name: string;
  readonly x: { readonly label: string; readonly values: readonly number[]; readonly scale?: "linear" | "log" };
  readonly y: { readonly label: string; readonly min?: number; readonly max?: number };
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** The place on the x axis that the controls are at. */
  readonly at?: number;
}

/** Vectors of two numbers, seen. */
export interface Plane {
  readonly kind: "plane";
  readonly name: string;
  /** The ends of both axes. */
  readonly from: number;
  readonly to: number;
  readonly marks: readonly PlaneMark[];
  /** The corners of a tinted area. */
  readonly area?: readonly (readonly [number, number])[];
}

export interface PlaneMark {
  readonly name: string;
  /** Arrows start at 0. A result is a point that others make. */
  readonly form: "arrow" | "point" | "result";
  readonly at: readonly [number, number];
  /** Marks of one tone belong together. Without it, each has its own. */
  readonly tone?: 0 | 1 | 2;
  readonly isFaint?: boolean;
  /** The control of kind “cells”, and its row, which holds these two numbers: a reader drags the mark. */
  readonly control?: { readonly name: string; readonly row: number };
}

/** The shape of a tensor, with a letter for each axis. */
export interface Shape {
  readonly kind: "shape";
  readonly name: string;
  readonly sizes: readonly number[];
  readonly axes: readonly string[];
}

/** A picture cut into patches. */
export interface Picture {
  readonly kind: "picture";
  readonly name: string;
  /** The pixels’ colours row by row, as #rgb. */
  readonly pixels: readonly string[];
  /** The number of pixels in a row. */
  readonly width: number;
  /** The number of patches in a row. */
  readonly across: number;
  /** A weight for each patch. The less weight, next to the largest, the more a patch fades. */
  readonly weights?: readonly number[];
  /** The patch that looks. */
  readonly query?: number;
  /** A click on a patch gives a control the patch's value. */
  readonly chooses?: { readonly control: string; readonly values: readonly number[] };
}

export interface Note {
  readonly kind: "note";
  readonly text: string;
  /** An error is a message of the engine, as it is. */
  readonly tone: "plain" | "error";
}

/** A live `<attention-map>` with these attributes. Where nothing runs, the matrix stands for it. */
export interface View {
  readonly kind: "view";
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly stands: Matrix;
}

export const table = (matrix: Matrix, more: Partial<Omit<Table, "kind" | "matrix">> = {}): Table =>
  ({ kind: "table", matrix, ...more });

/** All matrices of a figure. */
export const tablesOf = (rows: readonly Row[]): Table[] =>
  rows.flatMap(({ items }) => items.filter((item) => typeof item === "object" && item.kind === "table"));
