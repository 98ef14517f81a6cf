// SPDX-License-Identifier: Apache-2.0
/** The numbers of whole maps, as other programs read them. They are what the engine computed, not what is drawn. */
import { type MapSource, type Part, piecesOf } from "../maps/source.js";

/** The most cells of all maps together. */
const kMostCells = 4_000_000;

export type Head = readonly [layer: number, head: number];

/** Maps in full, in the order of `heads`. */
export interface Numbers {
  readonly maps: MapSource;
  readonly heads: readonly Head[];
  /** [T,S] of each head. NaN where a sparse file says nothing. */
  readonly values: readonly Float32Array[];
  /** 1 where a query may look at a key and its weight is known, one array for all heads or one for each. */
  readonly seen: readonly Uint8Array[];
}

const count = (value: number): string => value.toLocaleString("en");

/** Throws when these maps have more cells than an export takes. */
function checkSize({ tokens, keyTokens }: MapSource, heads: readonly Head[]): void {
  const cells = tokens.length * keyTokens.length * heads.length;
  if (cells <= kMostCells) return;
  const maps = heads.length === 1 ? "this map has" : `these ${heads.length} maps have`;
  throw new Error(`${maps} ${count(cells)} cells (${count(cells * 4)} bytes as .npy), and exports take up to ${count(kMostCells)}: `
    + (heads.length === 1 ? "export the picture, or compute the map with the package" : "open one head and export that"));
}

/** Which cells the mask of a layer leaves, [T,S]. */
function visibleCells(maps: MapSource, layer: number): Uint8Array {
  const [rows, cols] = [maps.tokens.length, maps.keyTokens.length];
  const mask = maps.maskOf(layer);
  const seen = new Uint8Array(rows * cols);
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) seen[row * cols + col] = mask.hides(row, row + 1, col, col + 1) ? 0 : 1;
  return seen;
}

export async function numbersOf(maps: MapSource, heads: readonly Head[]): Promise<Numbers> {
  checkSize(maps, heads);
  const [rows, cols] = [maps.tokens.length, maps.keyTokens.length];
  const whole: Part = { rows: [0, rows], cols: [0, cols] };
  const masks = new Map(heads.map(([layer]) => [layer, visibleCells(maps, layer)]));
  const values: Float32Array[] = [];
  const seen: Uint8Array[] = [];
  for (const [layer, head] of heads) {
    const visible = masks.get(layer) as Uint8Array;
    const picture = await maps.part(layer, head, whole, [rows, cols]);
    const { known } = picture;
    values.push(picture.values.map((value, cell) => (visible[cell] === 0 ? 0 : known?.[cell] === 0 ? NaN : value)));
    seen.push(known ? visible.map((is, cell) => is & (known[cell] as number)) : visible);
  }
  return { maps, heads, values, seen };
}

/** As few digits as identify a float32. */
export function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(Number(value.toPrecision(9)));
}

/** A field of CSV. Spreadsheets take what begins as a formula for one, so that an apostrophe stands before it. */
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line for each cell that a query may look at, as `headlens map` writes it. */
export function csvOf({ maps, heads, values, seen }: Numbers): string {
  const { rows: tokens, cols: keyTokens } = piecesOf(maps);
  const [queries, keys] = [tokens.map(field), keyTokens.map(field)];
  const lines = ["layer,head,query,key,weight,query_piece,key_piece"];
  heads.forEach(([layer, head], index) => {
    const [weights, isSeen] = [values[index] as Float32Array, seen[index] as Uint8Array];
    for (let query = 0, cell = 0; query < queries.length; query++)
      for (let key = 0; key < keys.length; key++, cell++) {
        if (isSeen[cell] === 0) continue;
        lines.push(`${layer},${head},${query},${key},${shortest(weights[cell] as number)},${queries[query]},${keys[key]}`);
      }
  });
  return `${lines.join("\n")}\n`;
}

function nested(values: ArrayLike<number>, rows: number, cols: number): string {
  const number = (value: number): string => (Number.isFinite(value) ? shortest(value) : "null");
  const row = (_: unknown, index: number): string =>
    `[${Array.from({ length: cols }, (__, col) => number(values[index * cols + col] as number)).join(",")}]`;
  return `[${Array.from({ length: rows }, row).join(",")}]`;
}

/**
 * The mask as a field of JSON: "causal", or nested lists of 0 and 1; nothing where all keys may be looked at. It is one
 * for all layers, and leaves what some layer's mask leaves.
 */
function maskField(maps: MapSource, layers: readonly number[]): string {
  const { tokens, keyTokens } = maps;
  const masks = layers.map((layer) => visibleCells(maps, layer));
  const visible = masks.reduce((some, more) => some.map((is, cell) => is | (more[cell] as number)));
  if (!visible.includes(0)) return "";
  const cols = keyTokens.length;
  const isCausal = visible.every((is, cell) => (is === 1) === (cell % cols <= Math.floor(cell / cols)));
  return isCausal ? ',"causal":true' : `,"mask":${nested(visible, tokens.length, cols)}`;
}

/** The heads of each layer that has any, in order. */
function byLayer(heads: readonly Head[]): Map<number, number[]> {
  const layers = new Map<number, number[]>();
  heads.forEach(([layer], index) => layers.set(layer, [...(layers.get(layer) ?? []), index]));
  return layers;
}

/** The fields beside the weights in JSON, without the closing brace. */
function factsOf(numbers: Numbers): string {
  const { maps, heads } = numbers;
  const { rows: tokens, cols: keyTokens } = piecesOf(maps);
  const keys = keyTokens === tokens ? "" : `,"keyTokens":${JSON.stringify(keyTokens)}`;
  const layers = [...byLayer(heads).keys()];
  const some = heads.filter(([layer]) => layer === layers[0]).map(([, head]) => head);
  const places = `,"layers":${JSON.stringify(layers)},"heads":${JSON.stringify(some)}`;
  return `{"tokens":${JSON.stringify(tokens)}${keys}${maskField(maps, layers)}${places}`;
}

/** {"tokens", "keyTokens", "causal" or "mask", "layers", "heads", "weights": [layer][head][query][key]} */
export function jsonOf(numbers: Numbers): string {
  const { maps, heads, values } = numbers;
  const size = [maps.tokens.length, maps.keyTokens.length] as const;
  const of = (index: number): string => nested(values[index] as Float32Array, ...size);
  const layers = [...byLayer(heads).values()].map((indexes) => `[${indexes.map(of).join(",")}]`);
  return `${factsOf(numbers)},"weights":[${layers.join(",")}]}\n`;
}

/** The shape of all maps as one array. Throws when layers differ in their numbers of heads. */
function shapeOf({ maps, heads }: Numbers): readonly number[] {
  const size = [maps.tokens.length, maps.keyTokens.length];
  if (heads.length === 1) return size;
  const counts = [...byLayer(heads).values()].map((indexes) => indexes.length);
  if (new Set(counts).size > 1)
    throw new Error("layers differ in their numbers of heads, which one array cannot hold: export JSON");
  return [counts.length, counts[0] ?? 0, ...size];
}

function joined(values: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const all = new Float32Array(values.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of values) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** NumPy's format, version 1.0: float32 [T,S] of one head, or [L,H,T,S]. */
export function npyOf(numbers: Numbers): Uint8Array<ArrayBuffer> {
  const kFixed = 10; // the magic number, the version and the header's length
  const shape = shapeOf(numbers).join(", ");
  const words = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  const header = `${words.padEnd(Math.ceil((kFixed + words.length + 1) / 64) * 64 - kFixed - 1)}\n`;
  const data = joined(numbers.values);
  const file = new Uint8Array(kFixed + header.length + data.byteLength);
  file.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length & 255, header.length >> 8]);
  file.set(new TextEncoder().encode(header), kFixed);
  file.set(new Uint8Array(data.buffer), kFixed + header.length);
  return file;
}

/** The same as jsonOf, with the numbers as bytes in base64, which is a fourth of the size. */
export async function compactOf(numbers: Numbers): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error("this browser encodes no bytes"));
    reader.readAsDataURL(new Blob([joined(numbers.values)]));
  });
  const data = url.slice(url.indexOf(",") + 1);
  const weights = `{"dtype":"F32","shape":${JSON.stringify(shapeOf(numbers))},"data":"${data}"}`;
  return `${factsOf(numbers)},"weights":${weights}}`;
}
