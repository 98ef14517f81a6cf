// SPDX-License-Identifier: Apache-2.0
/** All heads as small maps: a row for each layer, drawn on one canvas, and a column for each head. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { kNoPattern } from "../heads/no-pattern.js";
import type { HeadName } from "../heads/rules.js";
import { drawAll, Looks, type Placed } from "../maps/canvas.js";
import { blockSize, isReleased, type MapSource, type Overview, type Size } from "../maps/source.js";
import { scaleInWords, scaleOf } from "../maps/scale.js";
import { linkInWords, strongestLink } from "../maps/words.js";
import { headName, headsOf, toggled } from "../state/lists.js";
import type { Host, Room, View, ViewCode } from "./view.js";

type Head = readonly [layer: number, head: number];

/** Sizes in pixels: of the space between maps, of the layers' names, and of a map's side at least and at most. */
const kGap = 8;
const kNames = 28;
const kLeastSide = 40;
/** In a small room there are no names, and the maps stand close together. */
const kCompactGap = 2;
const kCompactLeast = 6;
/** Below maps of at least this side stands what the head is called. */
const kWordsSide = 64;
/** The width of the longest short name, and of a letter of a head's place, in pixels. */
const kLongestName = 60;
const kLetter = 7;
/** The height of one line of words below a map, and of two. */
const kBadgeHeights = [18, 32] as const;
/** The heights of a head's name and of the line below the maps. */
const kNameHeight = 16;
const kStatusHeight = 24;
/** The most lines that the heads of a layer are tried on. */
const kMostLines = 8;
const mostSide = (heads: number, aspect: number): number => (heads <= 4 ? 224 : 112) * Math.max(1, Math.min(aspect, 2));
/** Narrower and lower maps than this are drawn wider and higher, since nothing could be seen of them. */
const kMostAspect = 8;
/** The cells that are asked for at a time. All heads of a short text come at once, and those of a long one by and by. */
const kBatchCells = 1 << 20;

/** The maps that are drawn, and the overviews of them that are there, as [layer][head]. */
interface Content {
  readonly maps: MapSource;
  readonly overviews: (Overview | undefined)[][];
  done: number;
}

const headCount = ({ heads }: MapSource): number => heads.reduce((sum, count) => sum + count, 0);

const isComplete = ({ maps, done }: Content): boolean => done === headCount(maps);

interface Layout {
  readonly columns: number;
  /** The width and the height of a map, the space between maps, and the height of the words below each. */
  readonly side: number;
  readonly high: number;
  readonly gap: number;
  readonly below: number;
  /** True where these words are what a head is called. */
  readonly hasWords: boolean;
}

class GridView implements View {
  /** The only map that is a tab stop: the chosen head, until the arrow keys move to another. */
  #stop: Head = [0, 0];
  #chosen: Head = [0, 0];
  #content: Content | undefined;
  #links: string[][] = [];
  readonly #looks = new Looks();

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".thumb[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#content = undefined;
  }

  heads(): readonly Head[] {
    const counts = this.#content?.maps.heads ?? [];
    return counts.flatMap((count, layer) => Array.from({ length: count }, (_, head): Head => [layer, head]));
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    if (this.#content?.maps === maps && isComplete(this.#content)) return this.host.drawn(this);
    const content: Content = { maps, overviews: maps.heads.map((heads) => Array<undefined>(heads)), done: 0 };
    const size = pictureSize(maps, layoutOf(maps, this.host.room).side);
    for (const batch of batchesOf(maps, [this.host.state.layer, this.host.state.head])) {
      const asked = batch.map(async ({ layer, heads: [begin, end] }) => {
        const overviews = await maps.overviews(layer, [begin, end], size);
        overviews.forEach((overview, index) => ((content.overviews[layer] ?? [])[begin + index] = overview));
        content.done += end - begin;
      });
      await Promise.all(asked);
      signal.throwIfAborted();
      if (content !== this.#content) this.#replace(content);
      this.host.drawn(this);
    }
    void this.#describe(content);
  }

  #replace(content: Content): void {
    this.#content = content;
    this.#links = [];
    this.#stop = within(content.maps, this.#stop);
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    const { layer, head } = this.host.state;
    if (!Object.is(layer, this.#chosen[0]) || !Object.is(head, this.#chosen[1])) {
      this.#chosen = [layer, head];
      this.#stop = within(content.maps, this.#chosen);
    }
    const { heads } = content.maps;
    const layout = layoutOf(content.maps, this.host.room);
    const most = Math.max(...heads);
    const isWrapped = most > layout.columns;
    const name = (_: unknown, index: number): TemplateResult =>
      html`<span role="columnheader" class="name" part="label">H${index}</span>`;
    const names = Array.from({ length: most }, name);
    const marked = markedHeads(this.host.state.heads);
    const { columns, side, gap, below, hasWords } = layout;
    const style = `--columns: ${columns}; --side: ${side}px; --gap: ${gap}px; --aspect: ${aspectOf(content.maps)}; --below: ${below}px`;
    return html`
      <div class="heads ${isWrapped ? "wrapped" : ""} ${hasWords ? "badged" : ""} ${this.host.room.isCompact ? "compact" : ""}" part="grid" role="grid" aria-label="Attention of every head" .style=${style} @keydown=${this.#onKey}>
        <div role="row" class="layer ${isWrapped || hasWords ? "unseen" : ""}">
          <span role="columnheader" class="name"><span class="unseen">Layer</span></span>
          <div role="presentation" class="line">${names}</div>
        </div>
        ${heads.map((_, index) => this.#row(content, index, layout, isWrapped, marked))}
      </div>
      ${this.#status(content)}
    `;
  }

  /** The scale, and how far a long computation is. */
  #status({ maps, overviews, done }: Content): TemplateResult {
    const total = headCount(maps);
    if (done < total) {
      return html`<p class="status" role="status"><progress aria-label="Heads computed" max=${total} .value=${done}></progress> ${done} of ${total} heads</p>`;
    }
    const first = overviews.flat().find((overview) => overview !== undefined);
    if (!first) return html`<p class="status"></p>`;
    const scale = scaleOf(this.host.scaleChoice, first, maps.keyTokens.length, () => maps.fixedMost);
    const words = scale.kind === "head" ? " of each head: 0 – its usual largest weight" : `: ${scaleInWords(scale)}`;
    return html`<p class="status" part="scale">Scale${words}${pooledInWords(first)}</p>`;
  }

  #row(
    content: Content, layer: number, layout: Layout, isWrapped: boolean, marked: ReadonlySet<string>,
  ): TemplateResult {
    const { maps, overviews } = content;
    const [stopLayer, stopHead] = this.#stop;
    const cell = (_: unknown, head: number): TemplateResult => {
      const overview = overviews[layer]?.[head];
      const isChosen = layer === this.host.state.layer && head === this.host.state.head;
      const words = this.#links[layer]?.[head] ?? `${maps.tokens.length} by ${maps.keyTokens.length} weights`;
      const name = this.host.names?.[layer]?.[head];
      const isMarked = marked.has(`${layer}.${head}`);
      const label = `Layer ${layer}, head ${head}${name ? `, ${name.name}` : ""}${isMarked ? ", marked" : ""}: ${overview ? words : "not computed yet"}`;
      return html`
        <div role="gridcell" class=${isMarked ? "marked" : nothing} aria-selected=${isChosen ? "true" : "false"}>
          <button
            part="thumb" class="thumb ${overview ? "" : "unknown"}"
            aria-label=${label}
            tabindex=${layer === stopLayer && head === stopHead ? 0 : -1}
            data-layer=${layer}
            data-head=${head}
            @click=${(event: MouseEvent): void => (event.shiftKey ? this.#mark(layer, head) : this.host.openHead(layer, head, "map"))}
          ></button>
          ${layout.hasWords ? badge(layer, head, name) : isWrapped ? html`<span class="name" aria-hidden="true">H${head}</span>` : nothing}
        </div>
      `;
    };
    const cells = Array.from({ length: maps.heads[layer] ?? 0 }, cell);
    return html`<div role="row" class="layer"><span role="rowheader" class="name" part="label">L${layer}</span><div role="presentation" class="line">${cells}${this.#pictures(content, layer, layout)}</div></div>`;
  }

  /** The maps of a layer, on one canvas over its buttons. */
  #pictures({ maps, overviews }: Content, layer: number, { columns, side, high, gap, below }: Layout): TemplateResult {
    const count = maps.heads[layer] ?? 0;
    const [across, down] = [side + gap, high + below + gap];
    const placed = Array.from({ length: count }, (_, head): Placed => {
      const overview = overviews[layer]?.[head];
      const look = overview && this.#looks.of(maps, layer, overview, this.host.scaleChoice, this.host.colors);
      return [overview?.picture, look, (head % columns) * across, Math.floor(head / columns) * down, side, high];
    });
    const [width, height] = [columns * across - gap, Math.ceil(count / columns) * down - below - gap];
    return html`<canvas part="canvas" aria-hidden="true" .style=${`width: ${width}px; height: ${height}px`} ${drawAll(placed, width, height)}></canvas>`;
  }

  /**
   * Writes the text alternatives after the pictures, head by head, and stops when there are newer maps. Each needs one
   * row of its map.
   */
  async #describe(content: Content): Promise<void> {
    const { maps } = content;
    const links: string[][] = [];
    try {
      await new Promise((later) => setTimeout(later, 150));
      for (const [layer, row] of content.overviews.entries()) {
        const words: string[] = [];
        links.push(words);
        for (const [head, overview] of row.entries()) {
          if (content !== this.#content) return;
          if (overview) words[head] = linkInWords(maps, await strongestLink(maps, layer, head, overview));
        }
      }
    } catch (error) {
      // The maps were released because newer ones came, which get text alternatives of their own.
      if (isReleased(error)) return;
      this.host.fail(error);
    }
    if (content !== this.#content) return;
    this.#links = links;
    this.host.requestUpdate();
  }

  /** Adds a head to those that are shown together, or takes it away. */
  #mark(layer: number, head: number): void {
    this.host.change({ heads: toggled(this.host.state.heads, `${layer}.${head}`) });
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (!this.#content || event.altKey || event.metaKey) return;
    const { heads } = this.#content.maps;
    const [layer, head] = this.#stop;
    const last = (of: number): number => (heads[of] ?? 0) - 1;
    const moves: Readonly<Record<string, Head>> = {
      ArrowUp: [layer - 1, Math.min(head, last(layer - 1))],
      ArrowDown: [layer + 1, Math.min(head, last(layer + 1))],
      ArrowLeft: [layer, head - 1],
      ArrowRight: [layer, head + 1],
      Home: [event.ctrlKey ? 0 : layer, 0],
      End: event.ctrlKey ? [heads.length - 1, last(heads.length - 1)] : [layer, last(layer)],
    };
    const to = moves[event.key];
    if (event.key === "p") this.#mark(layer, head);
    else if (event.key === "s") this.host.change({ ablate: toggled(this.host.state.ablate, `${layer}.${head}`) });
    else if (!to) return;
    event.preventDefault();
    if (!to || to[1] < 0 || to[1] > last(to[0])) return;
    this.#stop = to;
    this.host.requestUpdate();
    void this.host.updateComplete.then(() => this.focus());
    this.host.visitHead(...to);
  };
}

/** The head closest to the given one among those that exist. */
function within({ heads }: MapSource, [layer, head]: Head): Head {
  const clamp = (index: number, count: number): number => Math.max(0, Math.min(Math.trunc(index) || 0, count - 1));
  const to = clamp(layer, heads.length);
  return [to, clamp(head, heads[to] ?? 0)];
}

/** The heads that are marked, of a list that anyone may have written. */
function markedHeads(list: string): ReadonlySet<string> {
  try {
    return new Set(headsOf("heads", list).map(({ layer, head }) => `${layer}.${head}`));
  } catch {
    return new Set();
  }
}

/** The place of a head and what it is called, which the label of its map says, too. */
function badge(layer: number, head: number, called: HeadName | undefined): TemplateResult {
  const words = called?.name === kNoPattern ? html`<i>–</i>` : called?.short;
  return html`<span class="badge" part="badge" aria-hidden="true" title=${called ? `${layer}.${head} ${called.name}` : nothing}><b>${layer}.${head}</b> ${words}</span>`;
}

/** The width of a map by its height, within what can be seen. */
function aspectOf({ tokens, keyTokens }: MapSource): number {
  return Math.max(1 / kMostAspect, Math.min(keyTokens.length / tokens.length, kMostAspect));
}

/**
 * All heads of a layer stand side by side where they are large enough, and else on several lines. Where the height is
 * limited, all layers fit into it, on as many lines as make the maps largest.
 */
function layoutOf(maps: MapSource, room: Room): Layout {
  const most = Math.max(...maps.heads);
  if (room.height < Infinity) {
    const layouts = Array.from({ length: Math.min(most, kMostLines) }, (_, lines) => layoutOn(maps, room, lines + 1));
    return layouts.reduce((best, layout) => (layout.side > best.side ? layout : best));
  }
  const [gap, least] = room.isCompact ? [kCompactGap, kCompactLeast] : [kGap, kLeastSide];
  const fitting = Math.max(1, Math.min(most, Math.floor((freeWidth(room) + gap) / (least + gap))));
  return layoutOn(maps, room, Math.ceil(most / fitting));
}

const freeWidth = ({ width, isCompact }: Room): number => Math.max(width - (isCompact ? 0 : kNames), kCompactLeast);

/** The layout with the heads of a layer on `lines` lines of equal length. */
function layoutOn(maps: MapSource, room: Room, lines: number): Layout {
  const gap = room.isCompact ? kCompactGap : kGap;
  const most = Math.max(...maps.heads);
  const columns = Math.ceil(most / lines);
  const free = room.height - kStatusHeight - (room.isCompact || lines > 1 ? 0 : kNameHeight + gap);
  const sideWith = (name: number, width = freeWidth(room)): number => {
    const wide = Math.min((width - (columns - 1) * gap) / columns, mostSide(most, aspectOf(maps)));
    const high = (free / (maps.heads.length * lines) - gap - name) * aspectOf(maps);
    return Math.floor(Math.max(Math.min(wide, high), kCompactLeast));
  };
  // The badges say which layer and head it is, so that the names beside and above are not needed.
  const inOneLine = kLongestName + kLetter * headName({ layer: maps.heads.length - 1, head: most - 1 }).length;
  const badge = kBadgeHeights[sideWith(kBadgeHeights[0], room.width) >= inOneLine ? 0 : 1];
  const worded = sideWith(badge, room.width);
  const hasWords = !room.isCompact && worded >= kWordsSide;
  const below = hasWords ? badge : room.isCompact || lines === 1 ? 0 : kNameHeight;
  const side = hasWords ? worded : sideWith(below);
  return { columns, side, high: side / aspectOf(maps), gap, below, hasWords };
}

/** The blocks of a thumbnail: as many as it has pixels on the device. */
function pictureSize(maps: MapSource, side: number): Size {
  const aspect = aspectOf(maps);
  const pixels = Math.max(side, kLeastSide) * devicePixelRatio;
  return [Math.round(pixels / Math.max(aspect, 1)), Math.round(pixels * Math.min(aspect, 1))];
}

interface Ask {
  readonly layer: number;
  readonly heads: readonly [number, number];
}

/** The heads in groups that are asked for at a time: all together for small maps, else one by one from the chosen one on. */
function batchesOf(maps: MapSource, [layer, head]: Head): Ask[][] {
  const cells = maps.tokens.length * maps.keyTokens.length;
  const whole = maps.heads.map((heads, index): Ask => ({ layer: index, heads: [0, heads] }));
  if (cells * headCount(maps) <= kBatchCells) return [whole];
  const few = Math.max(1, Math.floor(kBatchCells / cells));
  const asks = whole.flatMap(({ layer: of, heads: [, count] }) =>
    Array.from({ length: Math.ceil(count / few) }, (_, index): Ask => ({
      layer: of,
      heads: [index * few, Math.min((index + 1) * few, count)],
    })),
  );
  const isChosen = ({ layer: of, heads: [begin, end] }: Ask): boolean => of === layer && head >= begin && head < end;
  return [...asks.filter(isChosen), ...asks.filter((ask) => !isChosen(ask))].map((ask) => [ask]);
}

function pooledInWords({ picture }: Overview): string {
  const [rows, cols] = blockSize(picture);
  return rows * cols > 1 ? `; max of ${rows}×${cols}` : "";
}

const styles = css`
  .heads {
    display: grid;
    gap: var(--gap);
  }
  .compact .layer,
  .badged .layer {
    grid-template-columns: 1fr;
  }
  .badged .layer > .name {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
  }
  .compact .layer > .name,
  .compact .layer:first-child,
  .compact.wrapped .name {
    display: none;
  }
  .layer {
    display: grid;
    grid-template-columns: 20px 1fr;
    align-items: start;
    gap: 8px;
  }
  .layer > .name {
    align-self: center;
  }
  .wrapped .layer > .name {
    align-self: start;
  }
  .line {
    position: relative;
    display: grid;
    grid-template-columns: repeat(var(--columns), var(--side));
    gap: var(--gap);
  }
  .name {
    display: block;
    color: var(--faint);
    font: 12px/16px var(--mono);
    text-align: center;
  }
  .badge {
    display: -webkit-box;
    height: var(--below);
    padding-top: 4px;
    overflow: hidden;
    font-size: 11px;
    line-height: 14px;
    -webkit-box-orient: vertical;
    -webkit-line-clamp: 2;
  }
  .badge b {
    color: var(--faint);
    font: 11px/14px var(--mono);
  }
  .badge i {
    color: var(--faint);
    font-style: normal;
  }
  .marked .thumb {
    outline: 2px dashed var(--ink);
    outline-offset: 1px;
  }
  .line canvas {
    position: absolute;
    pointer-events: none;
  }
  .thumb {
    display: block;
    width: 100%;
    aspect-ratio: var(--aspect);
    border-radius: 0;
    background: var(--hatch);
  }
  .thumb.unknown {
    background: var(--dots);
  }
  .thumb:hover {
    outline: 1px solid var(--faint);
    outline-offset: 1px;
  }
  [aria-selected="true"] .thumb {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .thumb:focus-visible {
    outline: 2px solid var(--ink);
    outline-offset: 2px;
  }
  .status {
    direction: ltr;
    text-align: match-parent;
    min-height: 16px;
    margin: 8px 0 0;
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
`;

export const gridView: ViewCode = { styles, create: (host) => new GridView(host) };
