// SPDX-License-Identifier: Apache-2.0
/**
 * One head's map in tiles. A tile of level z has blocks of 2^z × 2^z cells, and is asked for when it is looked at. Until
 * it is there, what is known of coarser levels is drawn in its place.
 */
import { dots, fillUnknown, type Look, paint, resize } from "./canvas.js";
import { type MapSource, type Part, type Picture, rowOf, type Size } from "./source.js";
import { isWhole, shownPart, shownSize, type Viewport } from "./viewport.js";

/** The blocks on each side of a tile. */
const kTile = 256;
/** The most tiles that are kept: 256 KB of numbers and as much of pixels each. */
const kKept = 96;
/** The tiles that are asked for at a time, so that what is looked at next does not wait long. */
const kAsked = 2;

interface Tile {
  readonly picture: Picture;
  readonly level: number;
  readonly canvas: HTMLCanvasElement;
  look: Look | undefined;
  /** The codes of a picture with unknown cells. */
  codes: Uint16Array | undefined;
}

interface Place {
  readonly key: string;
  readonly level: number;
  readonly part: Part;
}

/** The level whose blocks are at least as large as a pixel of the screen, and less than two. */
function levelFor(cell: number, pixelRatio: number): number {
  return Math.max(0, Math.ceil(Math.log2(1 / (cell * pixelRatio)) - 1e-9));
}

const keyOf = (level: number, row: number, col: number): string => `${level} ${row} ${col}`;

/** The tiles of a level that cover a part of the map, those in the middle first. */
function placesOf({ rows, cols }: Part, [height, width]: Size, level: number): Place[] {
  const side = kTile * 2 ** level;
  const places: Place[] = [];
  for (let row = Math.floor(rows[0] / side); row * side < rows[1]; row++)
    for (let col = Math.floor(cols[0] / side); col * side < cols[1]; col++) {
      const part: Part = {
        rows: [row * side, Math.min((row + 1) * side, height)],
        cols: [col * side, Math.min((col + 1) * side, width)],
      };
      places.push({ key: keyOf(level, row, col), level, part });
    }
  const middle = [(rows[0] + rows[1]) / 2, (cols[0] + cols[1]) / 2] as const;
  const distance = ({ part }: Place): number =>
    Math.hypot((part.rows[0] + part.rows[1]) / 2 - middle[0], (part.cols[0] + part.cols[1]) / 2 - middle[1]);
  return places.sort((a, b) => distance(a) - distance(b));
}

/** True for a picture that needs no more than one pixel for each number, where a canvas has so many. */
const isSharpIn = ({ size: [rows, cols], known }: Picture, height: number, width: number): boolean =>
  !known && rows <= height && cols <= width;

const overlap = (a: Part, b: Part): boolean =>
  a.rows[0] < b.rows[1] && b.rows[0] < a.rows[1] && a.cols[0] < b.cols[1] && b.cols[0] < a.cols[1];

export class Tiles {
  readonly #tiles = new Map<string, Tile>(); // the last used are last
  readonly #asked = new Set<string>();
  #wanted: Place[] = [];
  #isOpen = true;
  /** The number of tiles that have come. */
  count = 0;
  /** It is settled when the next tile has come or failed. */
  #next: Waiting = waiting();

  /**
   * `changed` is called when a tile has come, and `failed` when it cannot come. `all` is a picture with all numbers of the
   * map where there is one. It is used if it is not larger than a tile.
   */
  constructor(
    private readonly source: MapSource,
    readonly layer: number,
    readonly head: number,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
    all: Picture | undefined,
  ) {
    if (all && Math.max(...all.size) <= kTile) this.#tiles.set(keyOf(0, 0, 0), tileOf(all, 0));
  }

  /** Nothing is asked for or told any more. */
  close(): void {
    this.#isOpen = false;
  }

  /** Waits for the next tile. Rejects when it cannot come. */
  next(): Promise<void> {
    return this.#next.promise;
  }

  get #map(): Size {
    return [this.source.tokens.length, this.source.keyTokens.length];
  }

  /** Asks for the tiles of what is shown, and forgets what was asked for before and is no longer shown. */
  show(view: Viewport, pixelRatio: number): void {
    const part = shownPart(view);
    this.#wanted = placesOf(part, this.#map, levelFor(view.cell, pixelRatio));
    for (const { key } of this.#wanted) this.#use(key);
    this.#askNext();
  }

  /** The picture of the tiles' level that has this cell, if it is there. */
  pictureAt(row: number, col: number): Picture | undefined {
    const has = ({ part }: Place): boolean =>
      row >= part.rows[0] && row < part.rows[1] && col >= part.cols[0] && col < part.cols[1];
    const place = this.#wanted.find(has);
    return place && this.#tiles.get(place.key)?.picture;
  }

  get isSharp(): boolean {
    return this.#wanted.every(({ key }) => this.#tiles.has(key));
  }

  /** The cells of one block of the level that is shown. */
  get block(): number {
    return 2 ** (this.#wanted[0]?.level ?? 0);
  }

  /**
   * Draws what is known of the shown part; `base` lies below all tiles. The canvas has the pixels of the screen, or where
   * one picture is all that is seen, one pixel for each of its numbers: browsers take long for canvases of many pixels.
   */
  draw(canvas: HTMLCanvasElement, view: Viewport, pixelRatio: number, look: Look, base: Tile): void {
    const part = shownPart(view);
    const level = this.#wanted[0]?.level ?? 0;
    const fits = [...this.#tiles.values()].filter((tile) => tile.level >= level && overlap(tile.picture.part, part));
    const missing = this.#wanted.filter(({ key }) => !this.#tiles.has(key));
    const drawn = fits.filter(
      (tile) => tile.level === level || missing.some((place) => overlap(place.part, tile.picture.part)),
    );
    drawn.sort((a, b) => b.level - a.level);
    if (missing.length > 0) drawn.unshift(base);
    const pixels = (length: number): number => Math.max(Math.round(length * pixelRatio), 1);
    const { width: across, height: down } = shownSize(view);
    const [only] = drawn;
    if (only && drawn.length === 1 && isWhole(view) && isSharpIn(only.picture, pixels(down), pixels(across))) {
      paint(canvas, only.picture, look);
      return;
    }
    resize(canvas, pixels(across), pixels(down));
    const context = canvas.getContext("2d");
    if (!context) return;
    const scale = view.cell * pixelRatio;
    context.imageSmoothingEnabled = false;
    const fill = base.picture.known && dots(context, look.palette.theme, pixelRatio);
    for (const tile of drawn) {
      colored(tile, look);
      const { rows, cols } = tile.picture.part;
      const [x, y] = [Math.round((cols[0] - view.col) * scale), Math.round((rows[0] - view.row) * scale)];
      const width = Math.max(Math.round((cols[1] - view.col) * scale) - x, 1);
      const height = Math.max(Math.round((rows[1] - view.row) * scale) - y, 1);
      context.clearRect(x, y, width, height);
      context.drawImage(tile.canvas, x, y, width, height);
      if (fill && tile.codes) fillUnknown(context, tile.codes, tile.picture.size, { x, y, width, height }, fill);
    }
  }

  #use(key: string): void {
    const tile = this.#tiles.get(key);
    if (!tile) return;
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
  }

  #askNext(): void {
    for (const place of this.#wanted) {
      if (this.#asked.size >= kAsked) return;
      if (!this.#tiles.has(place.key) && !this.#asked.has(place.key)) void this.#ask(place);
    }
  }

  async #ask({ key, level, part }: Place): Promise<void> {
    this.#asked.add(key);
    const blocks = (begin: number, end: number): number => Math.ceil((end - begin) / 2 ** level);
    try {
      const size = [blocks(...part.rows), blocks(...part.cols)] as const;
      const picture = await this.source.part(this.layer, this.head, part, size);
      if (!this.#isOpen) return;
      this.#tiles.set(key, tileOf(picture, level));
      this.count++;
      for (const old of this.#tiles.keys()) {
        if (this.#tiles.size <= kKept) break;
        this.#tiles.delete(old);
      }
      this.changed();
    } catch (error) {
      this.#next.reject(error);
      if (this.#isOpen) this.failed(error);
      return;
    } finally {
      this.#asked.delete(key);
    }
    this.#next.resolve();
    this.#next = waiting();
    this.#askNext();
  }
}

interface Waiting {
  readonly promise: Promise<void>;
  resolve(this: void): void;
  reject(this: void, reason: unknown): void;
}

function waiting(): Waiting {
  let settle: Pick<Waiting, "resolve" | "reject"> = { resolve: () => undefined, reject: () => undefined };
  const promise = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => undefined); // nobody may be waiting
  return { promise, ...settle };
}

/** A picture that can be drawn below tiles. */
export const tileOf = (picture: Picture, level: number): Tile => ({
  picture,
  level,
  canvas: document.createElement("canvas"),
  look: undefined,
  codes: undefined,
});

export type { Tile };

function colored(tile: Tile, look: Look): void {
  if (tile.look === look) return;
  const codes = paint(tile.canvas, tile.picture, look);
  tile.codes = tile.picture.known && codes.slice();
  tile.look = look;
}

/** Whole rows of a head in full, for exact values and the colours of a row. */
export class Strips {
  readonly #strips = new Map<number, Picture>();
  readonly #asked = new Set<number>();
  readonly #rows: number;

  /** `all` is a picture with all numbers of the map where there is one, so that no row is asked for. */
  constructor(
    private readonly source: MapSource,
    private readonly layer: number,
    private readonly head: number,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
    private readonly all: Picture | undefined,
  ) {
    this.#rows = Math.max(1, Math.min(64, Math.floor(kStripCells / source.keyTokens.length)));
  }

  /** A row, or undefined until it has come. */
  row(row: number): Picture | undefined {
    const index = Math.floor(row / this.#rows);
    const strip = this.all ?? this.#strips.get(index);
    if (!strip) {
      if (!this.#asked.has(index)) void this.#ask(index);
      return undefined;
    }
    return rowOf(strip, row - strip.part.rows[0]);
  }

  async #ask(index: number): Promise<void> {
    this.#asked.add(index);
    const [height, width] = [this.source.tokens.length, this.source.keyTokens.length];
    const rows = [index * this.#rows, Math.min((index + 1) * this.#rows, height)] as const;
    try {
      const part: Part = { rows, cols: [0, width] };
      const strip = await this.source.part(this.layer, this.head, part, [rows[1] - rows[0], width]);
      if (this.#strips.size >= kStrips) this.#strips.delete(this.#strips.keys().next().value ?? -1);
      this.#strips.set(index, strip);
      this.changed();
    } catch (error) {
      this.failed(error);
    } finally {
      this.#asked.delete(index);
    }
  }
}

/** The cells of a strip, 256 KB of numbers, and the strips that are kept. */
const kStripCells = 1 << 16;
const kStrips = 32;
