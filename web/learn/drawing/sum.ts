// SPDX-License-Identifier: Apache-2.0
/** The sum that gives the cell that is pointed at, in the numbers that are seen. */
import { at } from "../../views/worked-example.js";
import type { Matrix } from "../../views/worked-example.js";
import { tablesOf } from "../scene.js";
import type { Look } from "./look.js";
import { printedCell } from "./table.js";

/** Longer sums show their first and last terms. */
const kMostTerms = 8;

const factor = (matrix: Matrix, row: number, col: number): string => {
  const value = at(matrix, row, col);
  const text = printedCell(value, matrix.digits);
  return value < 0 ? `(${text})` : text;
};

function joined(terms: readonly string[]): string {
  if (terms.length <= kMostTerms) return terms.join(" + ");
  return [...terms.slice(0, kMostTerms - 2), "…", terms.at(-1)].join(" + ");
}

/** Returns "" when nothing is pointed at, or its matrix comes from no other. */
export function sumOf({ lit, scene }: Look): string {
  if (lit?.row === undefined || lit.col === undefined) return "";
  const { row, col } = lit;
  const tables = tablesOf(scene.rows);
  const named = (name: string): Matrix | undefined => tables.find(({ matrix }) => matrix.name === name)?.matrix;
  const found = tables.find(({ matrix }) => matrix.name === lit.matrix);
  if (!found?.from) return "";
  const { matrix, from } = found;
  const place = `${matrix.rows[row] ?? ""}, ${matrix.cols[col] ?? ""}: `;
  const result = printedCell(at(matrix, row, col), matrix.digits);
  if (from.how === "product") {
    const [left, right] = [named(from.left), named(from.right)];
    if (!left || !right) return "";
    return `${place}${joined(left.cols.map((_, i) => `${factor(left, row, i)}·${factor(right, i, col)}`))} ≈ ${result}`;
  }
  const source = named(from.of);
  if (!source) return "";
  if (from.how === "each") return place + from.words(at(source, row, col), at(matrix, row, col));
  if (from.how === "transposed") return `${place}${source.name} has it in the row of ${source.rows[col] ?? ""}, column ${source.cols[row] ?? ""}: ${result}`;
  if (at(source, row, col) === -Infinity) return `${place}e^−∞ = 0: a masked key gets nothing`;
  const open = source.cols.map((_, index) => index).filter((index) => at(source, row, index) !== -Infinity);
  const power = (index: number): string => `e^${factor(source, row, index)}`;
  return `${place}${power(col)} ÷ (${joined(open.map(power))}) ≈ ${result}`;
}
