// SPDX-License-Identifier: Apache-2.0
/** The links of heads that are drawn as lines: the largest of each query, fetched for the queries that are seen. */
import type { MapSource, Picture } from "../maps/source.js";
import type { Head } from "../state/lists.js";

/** The most links that are drawn for a query of a head. */
export const kMostLinks = 8;
/** Queries are fetched in chunks of so many. */
const kChunk = 64;
/** The chunks of each head that are kept. */
const kKept = 64;

export interface Link {
  readonly row: number;
  readonly col: number;
  readonly weight: number;
}

/** The links of one query, the largest first, and the sum of the magnitudes of all its weights. */
export interface RowLinks {
  readonly links: readonly Link[];
  readonly total: number;
}

export class Links {
  readonly #chunks = new Map<number, readonly (readonly RowLinks[])[]>();
  readonly #asked = new Map<number, Promise<void>>();

  constructor(readonly maps: MapSource, readonly heads: readonly Head[]) {}

  /** The links of a query of the head at this place in `heads`; undefined until they are there. */
  of(head: number, row: number): RowLinks | undefined {
    return this.#chunks.get(Math.floor(row / kChunk))?.[head]?.[row % kChunk];
  }

  has(begin: number, end: number): boolean {
    return this.#between(begin, end).every((chunk) => this.#chunks.has(chunk));
  }

  /** Resolves when the links of the queries [begin, end) are there. */
  async fetch(begin: number, end: number): Promise<void> {
    await Promise.all(this.#between(begin, end).map((chunk) => this.#fetchChunk(chunk)));
  }

  #between(begin: number, end: number): number[] {
    const first = Math.floor(Math.max(begin, 0) / kChunk);
    const last = Math.ceil(Math.min(end, this.maps.tokens.length) / kChunk);
    return Array.from({ length: Math.max(last - first, 0) }, (_, index) => first + index);
  }

  #fetchChunk(chunk: number): Promise<void> {
    const asked = this.#asked.get(chunk) ?? this.#computeChunk(chunk);
    this.#asked.set(chunk, asked);
    asked.catch(() => this.#asked.delete(chunk));
    return asked;
  }

  async #computeChunk(chunk: number): Promise<void> {
    const { maps, heads } = this;
    const rows = [chunk * kChunk, Math.min((chunk + 1) * kChunk, maps.tokens.length)] as const;
    const width = maps.keyTokens.length;
    const part = { rows, cols: [0, width] } as const;
    const size = [rows[1] - rows[0], width] as const;
    const pictures = await Promise.all(heads.map(({ layer, head }) => maps.part(layer, head, part, size)));
    this.#chunks.set(chunk, pictures.map((picture, index) => linksOf(maps, heads[index]?.layer ?? 0, picture)));
    for (const old of this.#chunks.keys()) {
      if (this.#chunks.size <= kKept) break;
      this.#chunks.delete(old);
      this.#asked.delete(old);
    }
  }
}

/** The links of each row of a picture that has all cells. */
function linksOf(maps: MapSource, layer: number, { part, size: [rows, width], values, known }: Picture): RowLinks[] {
  const mask = maps.maskOf(layer);
  return Array.from({ length: rows }, (_, index) => {
    const row = part.rows[0] + index;
    const visible = mask.visible?.(row, row + 1);
    const [begin, end] = [Math.max(visible?.[0] ?? 0, 0), Math.min(visible?.[1] ?? width, width)];
    const best: Link[] = [];
    let total = 0;
    for (let col = begin; col < end; col++) {
      const weight = values[index * width + col] as number;
      if (!Number.isFinite(weight) || (!visible && mask.hides(row, row + 1, col, col + 1))) continue;
      total += Math.abs(weight);
      if (weight !== 0 && known?.[index * width + col] !== 0) insert(best, row, col, weight);
    }
    return { links: best, total };
  });
}

/** Keeps the largest links in order. */
function insert(best: Link[], row: number, col: number, weight: number): void {
  const size = Math.abs(weight);
  if (best.length === kMostLinks && size <= Math.abs((best[kMostLinks - 1] as Link).weight)) return;
  if (best.length === kMostLinks) best.pop();
  let at = best.length;
  while (at > 0 && Math.abs((best[at - 1] as Link).weight) < size) at--;
  best.splice(at, 0, { row, col, weight });
}

/** The links of a row that are drawn. */
export function drawnOf({ links }: RowLinks, threshold: number, topK: number): readonly Link[] {
  const most = topK > 0 ? Math.min(topK, kMostLinks) : kMostLinks;
  return links.slice(0, most).filter(({ weight }) => Math.abs(weight) >= threshold);
}

/** The share of a sum in whole percent, which is 100 only when nothing is missing. */
export function percent(part: number, total: number): string {
  const share = total > 0 ? (100 * part) / total : 0;
  return share > 99.9999 ? "100 %" : `${Math.min(Math.round(share), 99)} %`;
}
