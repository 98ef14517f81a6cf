// SPDX-License-Identifier: Apache-2.0
/** The cache of keys and values as two pictures: a row for each layer and key/value head, a column for each token. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { ModelInfo } from "headlens";
import { type Colors, draw, type Look, lookOf } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { kOpen } from "../maps/mask.js";
import type { Picture } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import type { Lengths } from "./decode-reading.js";

/** The content of the cache after a step. */
export interface CacheState {
  readonly info: ModelInfo;
  readonly lengths: Lengths;
  /** The tokens so far, and those that the picture has room for. */
  readonly tokens: readonly string[];
  readonly room: number;
  readonly firstKey: number;
  readonly length: number;
  /** The layer and key/value head that the open head reads. */
  readonly open: readonly [layer: number, keyHead: number];
  readonly bytesOfNumber: number;
}

export interface CacheCell {
  readonly which: "keys" | "values";
  readonly row: number;
  readonly token: number;
}

export const bytesOfToken = ({ layers, kvHeads, headDim }: ModelInfo, bytesOfNumber: number): number =>
  2 * layers * kvHeads * headDim * bytesOfNumber;

/** The heads that read one key/value head, as "heads 2 and 3". */
export function readersOf({ heads, kvHeads }: ModelInfo, keyHead: number): string {
  const size = heads / kvHeads;
  const first = keyHead * size;
  return size === 1 ? `head ${first}` : `heads ${first}–${first + size - 1}`;
}

/** `cell` is the one under the pointer, and `point` is called when that is another. */
export function cachePicture(
  state: CacheState, colors: Colors, cell: CacheCell | undefined, point: (cell: CacheCell | undefined) => void,
): TemplateResult {
  const { info, lengths } = state;
  const rows = info.layers * info.kvHeads;
  const height = Math.min(Math.max(Math.round(320 / rows), info.kvHeads < info.heads && rows <= 48 ? 16 : 3), 20);
  return html`
    <div class="decode-cache" .style=${`--row: ${height}px`} @pointerleave=${(): void => point(undefined)}>
      ${layerNames(info, height)}
      ${panel("keys", lengths.keys, state, colors, cell, point)} ${panel("values", lengths.values, state, colors, cell, point)}
    </div>
    <output class="decode-readout" aria-live="polite">${cell ? cellWords(state, cell) : nothing}</output>
    ${twin(state)}
  `;
}

/** The layers' names, and in grouped models a bracket with the heads that share each row. */
function layerNames(info: ModelInfo, height: number): TemplateResult {
  const isGrouped = info.kvHeads < info.heads && height >= 14;
  const readers = Array.from({ length: info.kvHeads }, (_, keyHead) => html`<span class="decode-group">${readersOf(info, keyHead)}</span>`);
  const name = (_: unknown, layer: number): TemplateResult => html`
    <div class="decode-layer" .style=${`height: calc(${info.kvHeads} * var(--row))`}>
      <span>layer ${layer}</span>${isGrouped ? html`<div>${readers}</div>` : nothing}
    </div>`;
  return html`<div class="decode-layers" aria-hidden="true"><span class="decode-caption"></span>${Array.from({ length: info.layers }, name)}</div>`;
}

function panel(
  which: CacheCell["which"], lengths: readonly Float32Array[], state: CacheState, colors: Colors,
  cell: CacheCell | undefined, point: (cell: CacheCell | undefined) => void,
): TemplateResult {
  const { room, info, open: [layer, keyHead] } = state;
  const rows = info.layers * info.kvHeads;
  const { picture, look, most } = drawnOf(state, lengths, colors);
  const at = (row: number, token: number, width = 1): string =>
    `top: ${(100 * row) / rows}%; left: ${(100 * token) / room}%; width: ${(100 * width) / room}%; height: ${100 / rows}%`;
  const onPoint = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const place = (share: number, count: number): number => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
    const token = place((event.clientX - box.left) / box.width, room);
    point({ which, row: place((event.clientY - box.top) / box.height, rows), token });
  };
  return html`
    <div class="decode-panel">
      <span class="decode-caption">${which}, 0 – ${formatValue(most, 1)}</span>
      <div class="decode-cells" role="img" aria-label=${`The lengths of the cached ${which}. A table follows.`}
        .style=${`height: calc(${rows} * var(--row))`} @pointermove=${onPoint} @pointerdown=${onPoint}>
        <canvas ${draw(picture, look)}></canvas>
        <span class="decode-open" .style=${at(layer * info.kvHeads + keyHead, 0, room)}></span>
        ${cell?.which === which ? html`<span class="decode-cell" .style=${at(cell.row, cell.token)}></span>` : nothing}
      </div>
    </div>
  `;
}

interface Drawn {
  readonly key: string;
  readonly most: number;
  readonly picture: Picture;
  readonly look: Look;
}

/** The picture that was drawn last, which stays the same as long as nothing about it changes. */
const drawn = new WeakMap<readonly Float32Array[], Drawn>();

function drawnOf({ room, firstKey, length }: CacheState, lengths: readonly Float32Array[], colors: Colors): Drawn {
  const key = [room, firstKey, length, JSON.stringify(colors)].join();
  const before = drawn.get(lengths);
  if (before?.key === key) return before;
  const most = lengths.reduce((all, row) => row.reduce((largest, value) => Math.max(largest, value), all), 0) || 1;
  const size = [Math.max(lengths.length, 1), room] as const;
  const values = new Float32Array(size[0] * room);
  const known = new Uint8Array(values.length);
  lengths.forEach((row, index) => {
    for (let token = firstKey; token < Math.min(length, row.length); token++) {
      known[index * room + token] = 1;
      values[index * room + token] = row[token] ?? NaN;
    }
  });
  const picture = { part: { rows: [0, size[0]], cols: [0, room] }, size, values, known } as const;
  const scale = { kind: "fixed", colormap: "sequential", min: 0, max: most } as const;
  const now = { key, most, picture, look: lookOf(scale, kOpen, colors) };
  drawn.set(lengths, now);
  return now;
}

function cellWords(state: CacheState, { which, row, token }: CacheCell): string {
  const { info, lengths, tokens, firstKey, length, bytesOfNumber } = state;
  const [layer, keyHead] = [Math.floor(row / info.kvHeads), row % info.kvHeads];
  const place = `layer ${layer}, ${info.kvHeads < info.heads ? `key/value head ${keyHead}, read by ` : ""}${readersOf(info, keyHead)}`;
  const name = tokenName(tokens[token] ?? "");
  if (token < firstKey) return `${place}: ${name} has left the cache`;
  if (token >= length) return `${place}: ${token < tokens.length ? `${name} is not read yet` : "no token yet"}`;
  const size = lengths[which][row]?.[token];
  const words = size === undefined ? "" : ` of length ${formatValue(size)}${bytesOfNumber < 4 ? " before rounding" : ""}`;
  return `${place}: the ${which === "keys" ? "key" : "value"} of ${name}${words}, ${info.headDim} numbers, ${info.headDim * bytesOfNumber} bytes`;
}

function twin({ info, lengths, firstKey, length, tokens }: CacheState): TemplateResult {
  const newest = length - 1;
  const number = (value: number | undefined): string => (value === undefined ? "–" : formatValue(value));
  const line = (row: number): TemplateResult => html`<tr>
    <th scope="row">layer ${Math.floor(row / info.kvHeads)}, key/value head ${row % info.kvHeads}</th><td>${readersOf(info, row % info.kvHeads)}</td>
    <td>${length - firstKey}</td><td>${number(lengths.keys[row]?.[newest])}</td><td>${number(lengths.values[row]?.[newest])}</td></tr>`;
  return html`
    <div class="unseen"><table class="decode-twin">
      <caption>The cache after ${tokenName(tokens[newest] ?? "")}</caption>
      <thead><tr><th scope="col">place</th><th scope="col">read by</th><th scope="col">tokens</th><th scope="col">length of the newest key</th><th scope="col">length of the newest value</th></tr></thead>
      <tbody>${Array.from({ length: info.layers * info.kvHeads }, (_, row) => line(row))}</tbody>
    </table></div>
  `;
}

export const kCacheStyles = css`
  .decode-cache {
    display: grid;
    grid-template-columns: max-content minmax(0, 1fr) minmax(0, 1fr);
    gap: 12px;
    direction: ltr;
  }
  .decode-caption {
    display: block;
    height: 20px;
    overflow: hidden;
    color: var(--faint);
    font: 12px/20px var(--mono);
    white-space: nowrap;
  }
  .decode-layer {
    display: flex;
    gap: 8px;
    border-top: 1px solid var(--line);
    color: var(--faint);
    font: 12px/16px var(--mono);
    white-space: nowrap;
  }
  .decode-layer:last-child {
    border-bottom: 1px solid var(--line);
  }
  .decode-layer > span {
    overflow: hidden;
  }
  .decode-group {
    display: block;
    height: var(--row);
    padding-inline-end: 8px;
    border: solid var(--faint);
    border-width: 1px 1px 1px 0;
    font-size: 12px;
    line-height: calc(var(--row) - 2px);
  }
  .decode-cells {
    position: relative;
    background: var(--dots);
    cursor: crosshair;
  }
  .decode-open,
  .decode-cell {
    position: absolute;
    pointer-events: none;
  }
  .decode-open {
    outline: 1px solid var(--accent);
  }
  .decode-cell {
    outline: 2px solid var(--ink);
    box-shadow: 0 0 0 3px var(--paper);
  }
  .decode-readout {
    display: block;
    min-height: 40px;
    margin-top: 4px;
    font: 12px/20px var(--mono);
  }
`;
