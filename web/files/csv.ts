// SPDX-License-Identifier: Apache-2.0
/** Reads CSV: the cells that `headlens map` writes, or one head as a table of numbers, also with names in its first row and column. */
import type { Given } from "./given-maps.js";
import { show } from "./limits.js";
import { SparseMaps } from "./sparse.js";

const kCells = ["layer", "head", "query", "key", "weight"];

/** The rows of a table. Cells in quotes may contain separators, ends of lines, and quotes, which stand twice. */
function* rowsOf(file: string, text: string, separator: string): Generator<string[]> {
  const plain = new RegExp(`[^${separator}\n]*`, "y");
  let cells: string[] = [];
  for (let at = 0; at <= text.length; at++) {
    let cell = "";
    if (text[at] === '"') {
      let end = at;
      do {
        end = text.indexOf('"', end + 1);
        if (end < 0) throw new Error(`${file} has a quote that is not closed, expected another`);
      } while (text[end + 1] === '"' && ++end);
      cell = text.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
    }
    plain.lastIndex = at;
    const rest = plain.exec(text)?.[0] ?? "";
    at += rest.length;
    cells.push(cell + (rest.endsWith("\r") ? rest.slice(0, -1) : rest));
    if (text[at] === separator) continue;
    if (cells.length > 1 || cells[0] !== "") yield cells;
    cells = [];
  }
}

/** A number, which is NaN where it is missing, or undefined for other text. */
function numberOf(cell: string): number | undefined {
  const text = cell.trim();
  const value = text === "" ? NaN : Number(text);
  if (!Number.isNaN(value) || /^([+-]?nan|null|na|)$/i.test(text)) return value;
  const [infinite, sign] = /^([+-]?)inf(inity)?$/i.exec(text) ?? [];
  return infinite === undefined ? undefined : sign === "-" ? -Infinity : Infinity;
}

const isName = (cell: string): boolean => numberOf(cell) === undefined;

function numbersOf(file: string, cells: readonly string[], row: number): number[] {
  return cells.map((cell, col) => {
    const value = numberOf(cell);
    if (value === undefined) throw new Error(`${file}: row ${row}, column ${col + 1} is ${show(cell)}, expected a number`);
    return value;
  });
}

/** One head. An empty first cell says that the first row and column are names, whatever these are. */
function tableMaps(file: string, rows: Iterable<string[]>): Given {
  let header: string[] | undefined;
  let hasNames = false;
  const tokens: string[] = [];
  const weights: number[][] = [];
  let row = 0;
  for (const cells of rows) {
    if (++row === 1 && (cells[0] === "" || cells.slice(1).some(isName))) {
      header = cells;
      continue;
    }
    if (weights.length === 0) hasNames = header?.[0] === "" || isName(cells[0] ?? "");
    const numbers = numbersOf(file, hasNames ? cells.slice(1) : cells, row);
    const expected = weights[0]?.length ?? numbers.length;
    if (numbers.length !== expected) throw new Error(`${file}: row ${row} has ${numbers.length} numbers, expected ${expected}`);
    if (hasNames) tokens.push(cells[0] ?? "");
    weights.push(numbers);
  }
  const cols = weights[0]?.length ?? 0;
  if (cols === 0) throw new Error(`${file} has no numbers, expected a table of weights`);
  const named = [header && "its first row", hasNames && "its first column"].filter(Boolean).join(" and ");
  return {
    weights: { data: weights.flat(), shape: [weights.length, cols] },
    tokens: hasNames ? tokens : undefined,
    // Above a column of names there is a cell more.
    keyTokens: header?.slice(header.length - cols),
    understood: `${file}: a table (${weights.length}, ${cols}), read as queries × keys${named && `, with names in ${named}`}`,
  };
}

/** A row of the program's file. */
interface Cell {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  readonly pieces: readonly string[];
}

function* cellsOf(file: string, rows: Iterable<string[]>): Generator<Cell> {
  let row = 0;
  for (const cells of rows) {
    if (++row === 1) continue;
    const numbers = numbersOf(file, cells.slice(0, kCells.length), row);
    const [layer = NaN, head = NaN, query = NaN, key = NaN, weight = NaN] = numbers;
    const wrong = [layer, head, query, key].findIndex((index) => !Number.isSafeInteger(index) || index < 0);
    if (wrong >= 0) throw new Error(`${file}: row ${row} has the ${kCells[wrong]} ${show(cells[wrong] ?? "")}, expected a whole number from 0`);
    // The program writes ' before what a spreadsheet would take for a formula.
    const pieces = cells.slice(kCells.length).map((piece) => piece.replace(/^'(?='*[=+@\t\r\n-])/, ""));
    yield { layer, head, query, key, weight, pieces };
  }
}

const ascending = (numbers: ReadonlySet<number>): number[] => [...numbers].sort((a, b) => a - b);

function placesOf(sorted: readonly number[]): ReadonlyMap<number, number> {
  return new Map(sorted.map((index, place) => [index, place]));
}

/** Names by index, where every index has one. */
function namesOf(names: ReadonlyMap<number, string>, count: number): string[] | undefined {
  return names.size === count ? Array.from({ length: count }, (_, index) => names.get(index) ?? "") : undefined;
}

/** The program's cells, which are read twice: for their sizes, and for their weights. */
function cellMaps(file: string, rows: () => Iterable<string[]>): Given {
  const [layers, heads] = [new Set<number>(), new Set<number>()];
  const [queries, keys] = [new Map<number, string>(), new Map<number, string>()];
  let [height, width] = [0, 0];
  for (const { layer, head, query, key, pieces } of cellsOf(file, rows())) {
    const [queryPiece, keyPiece] = pieces;
    layers.add(layer);
    heads.add(head);
    [height, width] = [Math.max(height, query + 1), Math.max(width, key + 1)];
    if (queryPiece !== undefined) queries.set(query, queryPiece);
    if (keyPiece !== undefined) keys.set(key, keyPiece);
  }
  const [ofLayers, ofHeads] = [ascending(layers), ascending(heads)];
  const maps = new SparseMaps(file, ofLayers.length, ofHeads.length, [height, width]);
  const [layerAt, headAt] = [placesOf(ofLayers), placesOf(ofHeads)];
  for (const { layer, head, query, key, weight } of cellsOf(file, rows()))
    maps.set(layerAt.get(layer) ?? 0, headAt.get(head) ?? 0, query, key, weight);
  const { words, ...given } = maps.given();
  const list = (indexes: readonly number[]): string => `${indexes.slice(0, 12).join(", ")}${indexes.length > 12 ? ", …" : ""}`;
  const understood = `${file}: a table of cells, ${height} × ${width}, of layers ${list(ofLayers)} and heads ${list(ofHeads)}${words}`;
  return { ...given, tokens: namesOf(queries, height), keyTokens: namesOf(keys, width), understood };
}

export function csvMaps(file: string, text: string): Given {
  const [firstLine = ""] = text.slice(0, 1 << 16).split("\n");
  const separator = ["\t", ";"].find((sign) => firstLine.includes(sign) && !firstLine.includes(",")) ?? ",";
  const rows = (): Generator<string[]> => rowsOf(file, text, separator);
  return firstLine.startsWith(kCells.join()) ? cellMaps(file, rows) : tableMaps(file, rows());
}
