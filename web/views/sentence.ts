// SPDX-License-Identifier: Apache-2.0
/**
 * The text itself: large tokens, tinted by what the chosen one looks at, with arcs to what it looks at most, and the
 * finding in words. The text can be edited in place.
 */
import type { ModelInfo } from "headlens";
import { css, html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { findingOf, type FindingPart, holding } from "../heads/finding.js";
import { kNoPattern } from "../heads/no-pattern.js";
import { Looks, rowColors } from "../maps/canvas.js";
import { tintStyle } from "../maps/ink.js";
import type { Run } from "../maps/run.js";
import { placeOf as placeOn } from "../maps/scale.js";
import { checkHead, type MapSource, type Overview, overviewOf, type Picture } from "../maps/source.js";
import { isSpecial, tokenLabel, tokenName } from "../maps/tokens.js";
import { inSentence, wordsOf } from "../maps/word-groups.js";
import { strongestRow } from "../maps/words.js";
import { headName, isEqual, toggled } from "../state/lists.js";
import { pinnedRows, placeOf } from "../state/pins.js";
import { Followed } from "./followed.js";
import { meanOf } from "./row-strip.js";
import type { SentencePicture } from "./sentence-picture.js";
import type { Host, View, ViewCode } from "./view.js";

/** Arcs lead to the keys that hold this much of the row, but to no more than so many. */
const kArcMass = 0.9;
const kMostArcs = 8;
/** Of longer texts only the tokens around the chosen one are written. */
const kMostWritten = 1024;
/** Heights of arcs in pixels: at least, and at most above the first line and between lines. */
const kLeastHeight = 10;
const kMostHeight = 44;
const kBetweenLines = 14;

/** The row that is shown. `rows` are several where several are pinned. */
interface Place {
  readonly layer: number;
  readonly head: number;
  readonly rows: readonly number[];
}

interface Shown {
  readonly place: Place;
  /** NaN where a key is masked or its weight is not known. */
  readonly weights: Float32Array;
  readonly overview: Overview;
  readonly picture: Picture;
}

/** The fields that are edited, with their names. */
type Field = "text" | "textPair" | "source";

class SentenceView implements View, ReactiveController {
  readonly #followed: Followed<Place, Shown>;
  readonly #looks = new Looks();
  #isEditing = false;
  /** The row with the strongest link of the head, where nothing is chosen. */
  #usual = 0;
  /** The columns that arcs lead to, for the drawing after the layout is known. */
  #arcs: { readonly row: number; readonly cols: readonly number[]; readonly weights: Float32Array } | undefined;
  /** True while arcs wait for the next frame. */
  #awaitsFrame = false;
  /** All that the arcs were drawn from last. */
  #drawnArcs: readonly unknown[] = [];

  /** The picture of a run, over which its patches lie. */
  #seen: SentencePicture | undefined;

  /** The models that were read with, which decide the fields while there are no maps. */
  readonly #models = new Map<string, ModelInfo>();

  constructor(private readonly host: Host) {
    host.addController(this);
    this.#followed = new Followed(fetchRow, () => host.drawn(this), (error) => host.fail(error));
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".sentence [tabindex='0']")?.focus();
  }

  clear(): void {
    this.#followed.clear();
  }

  /** In the next frame the whole page is laid out. To ask for places of tokens now would lay it out once more. */
  hostUpdated(): void {
    if (this.#awaitsFrame) return;
    this.#awaitsFrame = true;
    requestAnimationFrame(() => {
      this.#awaitsFrame = false;
      this.#drawArcs();
    });
  }

  heads(): readonly (readonly [number, number])[] {
    const { layer, head } = this.host.state;
    return [[layer, head]];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) {
      this.#isEditing = true;
      this.clear();
      return this.host.drawn(this);
    }
    const { layer, head } = this.host.state;
    checkHead(maps, layer, head);
    const strongest = strongestRow(await overviewOf(maps, layer, head));
    signal.throwIfAborted();
    this.#usual = strongest ?? maps.tokens.length - 1;
    await Promise.all([this.#followed.load(maps, this.#place(maps), signal), this.#see(maps.run, signal)]);
    this.host.drawn(this);
  }

  async #see(run: Run | undefined, signal: AbortSignal): Promise<void> {
    if (!run?.info.image || this.#seen?.run === run) return;
    const { SentencePicture, styles: more } = await import("./sentence-picture.js");
    this.host.addStyles(more);
    this.#seen = await SentencePicture.of(run, signal);
  }

  #place(maps: MapSource): Place {
    const { cursor, state } = this.host;
    const pinned = pinnedRows(maps, state);
    const pointed = cursor?.row === undefined ? undefined : placeOf(maps, cursor, state).row;
    const rows = pointed !== undefined ? [pointed] : pinned.length > 0 ? pinned : [this.#usual];
    return { layer: state.layer, head: state.head, rows };
  }

  render(): TemplateResult {
    const { shown } = this.#followed;
    if (shown) this.#followed.follow(this.#place(shown.maps));
    return html`
      <div class="sentence" part="sentence">
        ${this.#editor(shown?.maps)} ${shown ? this.#text(shown.maps, shown.numbers) : nothing}
      </div>
    `;
  }

  #editor(maps: MapSource | undefined): TemplateResult | typeof nothing {
    // Given maps read no text that could be changed.
    if (this.host.controls !== "full" || (maps && !maps.run)) return nothing;
    const { state } = this.host;
    if (maps?.run) this.#models.set(maps.run.reading.model, maps.run.info);
    const info = maps ? maps.run?.info : this.#models.get(state.model);
    if (info?.image) return html`
      <label class="sentence-edit sentence-picture">Choose a picture …
        <input class="unseen" type="file" accept="image/*" @change=${this.#onPicture} />
      </label>`;
    if (!this.#isEditing) return html`<button class="sentence-edit" @click=${(): void => this.#edit(true)}><span aria-hidden="true">✎</span> Edit text</button>`;
    const hasSource = info?.encoder !== undefined || state.source !== "";
    const hasPair = (info !== undefined && info.segments > 0 && !info.causal) || state.textPair !== "";
    const field = (name: Field, label: string): TemplateResult => {
      const onInput = ({ target }: Event): void => this.host.change({ [name]: (target as HTMLTextAreaElement).value, query: "", key: "" });
      return html`<label>${label}<textarea name=${name} rows="2" dir="auto" spellcheck="false" autocomplete="off" .value=${state[name]} @input=${onInput} @keydown=${this.#onEditKey}></textarea></label>`;
    };
    return html`
      <div class="sentence-fields">
        ${hasSource ? field("source", "Source") : nothing} ${field("text", hasSource ? "Target" : "Your text")}
        ${hasPair ? field("textPair", "Second text") : nothing}
        <button class="sentence-edit" @click=${(): void => this.#edit(false)}>Done</button>
      </div>
    `;
  }

  readonly #onPicture = ({ target }: Event): void => {
    const [file] = (target as HTMLInputElement).files ?? [];
    if (!file) return;
    import("../maps/pictures.js").then(({ givePicture }) => givePicture(file))
      .then((image) => this.host.change({ image }), (error: unknown) => this.host.fail(error));
  };

  readonly #onEditKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") this.#edit(false);
  };

  #edit(isEditing: boolean): void {
    this.#isEditing = isEditing;
    this.host.requestUpdate();
    void this.host.updateComplete.then(() => {
      const { renderRoot } = this.host;
      const area = renderRoot.querySelector<HTMLTextAreaElement>(".sentence textarea");
      if (isEditing) area?.select();
      else renderRoot.querySelector<HTMLElement>(".sentence-edit")?.focus();
    });
  }

  #text(maps: MapSource, { place, weights, overview, picture }: Shown): TemplateResult {
    const look = this.#looks.of(maps, place.layer, overview, this.host.scaleChoice, this.host.colors);
    const colors = rowColors(picture, look);
    const row = place.rows.at(-1) ?? 0;
    const held = holding(weights, kArcMass, kMostArcs);
    // Patches lie in their own grid, where arcs would only cross each other.
    const isPicture = maps.run?.info.image !== undefined;
    this.#arcs = { row, cols: isPicture ? [] : held, weights };
    const isCross = isAcross(maps);
    const keyOf = (col: number): string => tintStyle(colors.subarray(col * 4, col * 4 + 4));
    const patchOf = (col: number): string => `${keyOf(col)}; --place: ${clamped(placeOn(look.scale, weights[col] ?? NaN, row))}`;
    const name = this.host.names?.[place.layer]?.[place.head]?.name;
    const { parts } = findingOf({
      weights, tokens: maps.tokens, keyTokens: maps.keyTokens, row, count: place.rows.length, head: headName(place),
      sees: (col) => !Number.isNaN(weights[col]), sumsToOne: !overview.signed && maps.fixedMost === 1, isSelf: !isCross,
      isPicture, name: name === kNoPattern ? undefined : name,
    });
    return html`
      <div class="sentence-rows ${isCross ? "sentence-across" : ""}" @keydown=${this.#onKey} @pointerleave=${this.#leave}>
        <svg class="sentence-arcs" aria-hidden="true"></svg>
        ${isCross ? this.#tokens(maps, "col", (col) => keyOf(col), place) : nothing}
        ${this.#tokens(maps, "row", isPicture ? patchOf : (index) => (isCross ? "" : keyOf(index)), place, held)}
      </div>
      <p class="sentence-finding" part="finding" aria-live=${this.host.controls === "none" ? "off" : "polite"}>${parts.map(marked)}</p>
    `;
  }

  #tokens(
    maps: MapSource, axis: "row" | "col", tint: (index: number) => string, place: Place, held: readonly number[] = [],
  ): TemplateResult {
    const tokens = axis === "row" ? maps.tokens : maps.keyTokens;
    const { state, cursor } = this.host;
    const chosen = place.rows.at(-1) ?? 0;
    const stop = axis === "row" ? Math.min(chosen, tokens.length - 1) : 0;
    const last = Math.max(tokens.length - kMostWritten, 0);
    const begin = Math.max(0, Math.min(stop - kMostWritten / 2, last));
    const end = Math.min(begin + kMostWritten, tokens.length);
    const pinned = new Set((axis === "row" ? state.query : state.key).split(/\s+/));
    const token = (index: number, isFirst: boolean): TemplateResult => {
      const name = tokens[index] ?? "";
      const { text, isSpaced } = inSentence(tokens, index, isFirst, maps);
      const isQuery = axis === "row" && place.rows.includes(index);
      const isPointed = axis === "col" ? cursor?.col === index : cursor?.col === index && cursor.row === undefined;
      const classes = `${isQuery ? "query" : ""} ${held.includes(index) ? "holding" : ""} ${isPointed ? "pointed" : ""} ${isSpaced ? "spaced" : ""} ${isSpecial(name) ? "special" : ""}`;
      return html`<button
        class="sentence-token ${classes}" part="token" .style=${tint(index)} data-axis=${axis} data-index=${index}
        tabindex=${index === stop ? 0 : -1} aria-pressed=${pinned.has(String(index)) ? "true" : "false"}
        aria-label=${tokenName(name)}
        @pointerenter=${(): void => this.#point(axis, index)} @click=${this.#onClick}
      >${tokenLabel(text)}</button>`;
    };
    const patches = maps.run?.attention.patches;
    if (patches) {
      if (this.#seen?.run !== maps.run) return html``;
      return this.#seen.render(tokens.map((_, index) => token(index, true)), patches, this.host.colors.theme);
    }
    const words = wordsOf(tokens, maps).filter(([from, to]) => to > begin && from < end);
    const label = axis === "row" ? "Tokens; each can be chosen to see what it looks at" : "Tokens of the source";
    return html`
      <div class="sentence-tokens" role="group" aria-label=${label} dir=${isRightToLeft(tokens) ? "rtl" : nothing}>
        ${begin > 0 ? html`<span class="sentence-more">${begin} tokens before …</span>` : nothing}
        ${words.map(([from, to]) => html`<span class="sentence-word">${Array.from({ length: to - from }, (_, offset) => token(from + offset, offset === 0))}</span>`)}
        ${end < tokens.length ? html`<span class="sentence-more">… ${tokens.length - end} tokens after</span>` : nothing}
      </div>
    `;
  }

  #point(axis: "row" | "col", index: number): void {
    this.host.point(axis === "row" ? { row: index } : { col: index });
  }

  readonly #leave = (): void => this.host.point(undefined);

  readonly #onClick = (event: MouseEvent): void => {
    const { axis, index = "" } = (event.currentTarget as HTMLElement).dataset;
    const { query, key } = this.host.state;
    if (axis === "col") return this.host.change({ key: key === index ? "" : index });
    if (event.shiftKey) return this.host.change({ query: toggled(query, index) });
    // A pinned key belongs to the query that it was pinned with.
    this.host.change(query === index ? { query: "", key: "" } : { query: index, key: "" });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const from = (event.target as HTMLElement).closest<HTMLElement>(".sentence-token");
    if (!from || event.altKey || event.ctrlKey || event.metaKey) return;
    const group = from.closest<HTMLElement>(".sentence-tokens");
    const all = [...(group?.querySelectorAll<HTMLElement>(".sentence-token") ?? [])];
    const at = all.indexOf(from);
    const isRightToLeft = getComputedStyle(from).direction === "rtl";
    const columns = Number(group?.dataset.columns);
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: at + (isRightToLeft ? 1 : -1), ArrowRight: at + (isRightToLeft ? -1 : 1), Home: 0, End: all.length - 1,
      ArrowUp: at - columns, ArrowDown: at + columns,
    };
    const to = all[moves[event.key] ?? NaN];
    const { state } = this.host;
    if (to) {
      to.focus();
      this.#point(to.dataset.axis === "col" ? "col" : "row", Number(to.dataset.index));
    } else if (event.key === "p") from.click();
    else if (event.key === "s") this.host.silence(state.layer, state.head);
    else if (event.key === "Escape" && (state.query !== "" || state.key !== "")) this.host.change({ query: "", key: "" });
    else return;
    event.preventDefault();
  };

  /** Draws the arcs once the browser has laid the tokens out, over as many lines as they take. */
  #drawArcs(): void {
    const box = this.host.renderRoot.querySelector<HTMLElement>(".sentence-rows");
    const svg = box?.querySelector<SVGElement>(".sentence-arcs");
    if (!box || !svg || !this.#arcs) return;
    const { row, cols, weights } = this.#arcs;
    const drawn = [svg, weights, this.host.room.width];
    if (isEqual(drawn, this.#drawnArcs)) return;
    this.#drawnArcs = drawn;
    const find = (axis: string, index: number): HTMLElement | null =>
      box.querySelector(`.sentence-token[data-axis="${axis}"][data-index="${index}"]`);
    const isCross = find("col", 0) !== null;
    const from = find("row", row);
    const top = box.getBoundingClientRect();
    const boxOf = (element: Element): DOMRect => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return new DOMRect(x - top.x + box.scrollLeft, y - top.y + box.scrollTop, width, height);
    };
    const arcs = cols.flatMap((col) => {
      const to = find(isCross ? "col" : "row", col);
      if (!from || !to || from === to) return [];
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", arcBetween(boxOf(from), boxOf(to)));
      path.setAttribute("stroke-width", String(1 + 4 * Math.sqrt(weights[col] as number)));
      return [path];
    });
    svg.replaceChildren(...arcs);
  }
}

/** True where queries look at another text: of given maps, the names tell. */
const isAcross = ({ run, tokens, keyTokens }: MapSource): boolean =>
  run ? run.shown === "cross" : tokens !== keyTokens && !isEqual(tokens, keyTokens);

/** Returns true for a text whose first letter is one that is read from right to left. */
const isRightToLeft = (tokens: readonly string[]): boolean =>
  /^\P{L}*[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}]/u.test(tokens.filter((token) => !isSpecial(token)).join(""));

/** An arc above one line, or a curve between lines, from the query to a key. */
function arcBetween(from: DOMRect, to: DOMRect): string {
  const [x, toX] = [from.x + from.width / 2, to.x + to.width / 2];
  if (Math.abs(from.y - to.y) < from.height / 2) {
    const most = from.y < kMostHeight + 8 ? from.y - 4 : kMostHeight;
    const height = Math.min(kLeastHeight + Math.abs(toX - x) / 6, Math.max(most, kBetweenLines));
    return `M ${x} ${from.y} C ${x} ${from.y - 1.33 * height}, ${toX} ${to.y - 1.33 * height}, ${toX} ${to.y}`;
  }
  const isAbove = to.y < from.y;
  const [y, toY] = isAbove ? [from.y, to.bottom] : [from.bottom, to.y];
  const lean = Math.max(Math.abs(toY - y) / 2, kBetweenLines) * (isAbove ? -1 : 1);
  return `M ${x} ${y} C ${x} ${y + lean}, ${toX} ${toY - lean}, ${toX} ${toY}`;
}

/** A place on the scale that is one; 0 for no number. */
const clamped = (place: number): number => Math.min(Math.max(place || 0, 0), 1);

const marked = ({ kind, text }: FindingPart): TemplateResult | string =>
  kind === "key" ? html`<b>${text}</b>` : kind === "name" ? html`<i>${text}</i>` : text;

async function fetchRow(maps: MapSource, place: Place): Promise<Shown> {
  const { layer, head, rows } = place;
  const overview = await overviewOf(maps, layer, head);
  const width = maps.keyTokens.length;
  const pictures = await Promise.all(rows.map((row) =>
    maps.part(layer, head, { rows: [row, row + 1], cols: [0, width] }, [1, width])));
  const [first] = pictures;
  const row = rows.at(-1) ?? 0;
  if (!first) throw new Error("no token is chosen");
  const values = meanOf(pictures.map((one) => one.values));
  const mask = maps.maskOf(layer);
  const isHidden = (col: number): boolean =>
    first.known?.[col] === 0 || rows.every((at) => mask.hides(at, at + 1, col, col + 1));
  return {
    place,
    overview,
    picture: { ...first, part: { rows: [row, row + 1], cols: [0, width] }, values },
    weights: values.map((value, col) => (isHidden(col) ? NaN : value)),
  };
}

const styles = css`
  .sentence-rows {
    position: relative;
    max-height: 50vh;
    padding-top: 52px;
    overflow: hidden auto;
  }
  /* All arcs are between the two texts. */
  .sentence-across {
    padding-top: 4px;
  }
  .sentence-arcs {
    position: absolute;
    top: 0;
    left: 0;
    width: 100%;
    /* It is no higher, so that it never makes the tokens scroll. */
    height: 1px;
    overflow: visible;
    fill: none;
    stroke: var(--accent);
    stroke-linecap: round;
    opacity: 0.8;
    pointer-events: none;
  }
  .sentence-tokens {
    font-size: 20px;
    line-height: 32px;
    overflow-wrap: anywhere;
  }
  .sentence-tokens + .sentence-tokens {
    margin-top: 48px;
  }
  .sentence-word {
    display: inline-block;
    max-width: 100%;
    margin-bottom: 12px;
  }
  .sentence-token {
    max-width: 100%;
    vertical-align: top; /* tokens of small letters stand as high as the others */
    padding: 0 2px;
    overflow: hidden;
    border-radius: 4px;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, inherit);
    text-overflow: ellipsis;
    white-space: pre;
  }
  .sentence-token .token {
    font-family: inherit;
  }
  .sentence-token.spaced {
    margin-inline-start: 0.25em;
  }
  .sentence-token.special {
    color: var(--ink-on-tint, var(--faint));
    font-size: 14px;
  }
  .sentence-token.query {
    outline: 2px solid var(--accent);
    outline-offset: 0;
  }
  .sentence-token.pointed {
    outline: 1px solid var(--ink);
  }
  .sentence-token:focus-visible {
    outline: 2px solid var(--ink);
    outline-offset: 2px;
  }
  .sentence-picture {
    display: inline-grid;
    align-items: center;
    border-radius: 4px;
    cursor: pointer;
  }
  .sentence-picture:has(:focus-visible) {
    outline: 2px solid var(--accent);
  }
  .sentence-more {
    color: var(--faint);
    font-size: 14px;
  }
  /* It keeps two lines, so that a figure below does not move under the pointer that changes its words. */
  .sentence-finding {
    min-height: 56px;
    margin: 4px 0 0;
    font-size: 18px;
    line-height: 28px;
    overflow-wrap: anywhere;
  }
  .compact .sentence-finding {
    min-height: 0;
  }
  .sentence-finding b {
    color: var(--accent);
    font-weight: 600;
  }
  .sentence-edit {
    min-height: 28px;
    padding: 0 8px;
    border: 1px solid var(--line);
    color: var(--faint);
  }
  .sentence-edit:hover {
    color: var(--ink);
  }
  .sentence-fields {
    display: grid;
    justify-items: start;
    gap: 8px;
  }
  .sentence-fields label {
    display: grid;
    width: 100%;
    color: var(--faint);
    font-size: 12px;
  }
  .sentence-fields textarea {
    width: 100%;
    min-height: 64px;
    padding: 8px 12px;
    font: 18px/28px system-ui, sans-serif;
    field-sizing: content;
    resize: vertical;
  }
  @media (pointer: coarse) {
    .sentence-edit {
      min-height: 44px;
    }
    .sentence-token {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .sentence-token {
      forced-color-adjust: none;
    }
  }
`;

export const sentenceView: ViewCode = { styles, create: (host) => new SentenceView(host) };
