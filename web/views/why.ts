// SPDX-License-Identifier: Apache-2.0
/**
 * The reasons for which a head looks where it looks: the score of a cell as an exact sum over parts of the query's and of
 * the key's stream, and the scores of its row by parts of the keys.
 */
import type { StreamPart } from "headlens";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { namingOf, type Side } from "../maps/parts.js";
import type { AttentionName, Run } from "../maps/run.js";
import { isReleased, type MapSource } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import type { Cursor } from "../state/group.js";
import { percent } from "./expected.js";
import { Followed, type RunMaps } from "./followed.js";
import { chosenPlace, type HeadPlace, onPlaceKey, rowOf } from "./place.js";
import { Roving } from "./roving.js";
import type { Host, View, ViewCode } from "./view.js";
import { rowTable, type RowTable, rowTableOf, visibleKeys } from "./why-row.js";
import { whyStyles } from "./why-styles.js";
import { type Entry, type PartsTable, partsTable, tableOf } from "./why-table.js";
import { chainOf, type Link, reasonOf, sumInWords } from "./why-words.js";

/** The most keys that are offered for a comparison. */
const kOffered = 50;

interface Place extends HeadPlace {
  readonly against: string;
}

/** An explained link, and its tables; or the reason why there is no explanation. */
type Shown =
  | { readonly refusal: string }
  | { readonly link: Link; readonly keys: RowTable; readonly visible: readonly number[] };

class WhyView implements View {
  readonly #followed: Followed<Place, Shown>;
  /** The groups that are open, as "query heads of layer 0". */
  #open: ReadonlySet<string> = new Set();
  /** The table of the shown link with these groups open. */
  #table: { readonly of: Shown; readonly open: ReadonlySet<string>; readonly table: PartsTable } | undefined;
  /** The place that this view's own pointer is at, which it does not follow. */
  #own: Cursor | undefined;
  readonly #parts: Roving;
  readonly #keys: Roving;

  constructor(private readonly host: Host) {
    this.#followed = new Followed(explain, () => host.drawn(this), (error) => host.fail(error));
    [this.#parts, this.#keys] = [new Roving(() => host.requestUpdate()), new Roving(() => host.requestUpdate())];
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".why-table [tabindex='0']")?.focus();
  }

  clear(): void {
    this.#followed.clear();
    this.#table = undefined;
  }

  heads(): readonly (readonly [number, number])[] {
    const { layer, head } = this.host.state;
    return this.#followed.shown ? [[layer, head]] : [];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    await this.#followed.load(maps, this.#place(maps), signal);
    this.host.drawn(this);
  }

  prepare(maps: MapSource): Promise<void> {
    return this.#followed.prepare(maps, this.#place(maps));
  }

  #place(maps: MapSource): Place {
    return { ...chosenPlace(maps, this.host, this.#own), against: this.host.state.against };
  }

  render(): TemplateResult {
    const { shown } = this.#followed;
    if (!shown) return html``;
    const { maps, numbers } = shown;
    if (!this.#own || this.host.cursor !== this.#own) this.#followed.follow(this.#place(maps));
    if ("refusal" in numbers) return html`<p class="why-refused" part="why">${numbers.refusal}</p>`;
    const { link, keys, visible } = numbers;
    const naming = { query: namingOf(maps.run, "query"), key: namingOf(maps.run, "key") };
    const { sentence, size } = reasonOf(link, naming, maps.tokens, maps.keyTokens);
    const onKey = (event: KeyboardEvent): void => onPlaceKey(event, this.host, { row: link.row, col: link.key });
    return html`
      <section class="why" part="why" @keydown=${onKey}>
        <p class="why-sentence" aria-live="polite">${sentence}</p>
        <p class="why-faint">${size}</p>
        ${this.#comparison(maps, link, visible)} ${this.#chain(link, maps.run)} ${this.#partsOf(maps, numbers, link)}
        ${this.#row(maps, link, keys)}
      </section>
    `;
  }

  /** Chooses whether the numbers are those of one key, or differences between two. */
  #comparison(
    { keyTokens }: RunMaps, { key, against, rowExplained }: Link, visible: readonly number[],
  ): TemplateResult {
    const others = visible.filter((other) => other !== key).slice(0, kOffered);
    const other = against ?? others[0];
    if (other === undefined) return html`<p class="why-faint">This row has no other key to compare with.</p>`;
    const toggle = ({ target }: Event): void => this.host.change({ against: (target as HTMLInputElement).checked ? "next" : "" });
    const choose = ({ target }: Event): void => this.host.change({ against: (target as HTMLSelectElement).value });
    const weight = (of: number): string => percent(rowExplained.steps.weights.data[of] ?? NaN);
    const option = (of: number): TemplateResult =>
      html`<option value=${of} ?selected=${of === other}>${tokenName(keyTokens[of] ?? "")} (key ${of}): ${weight(of)}</option>`;
    const offered = others.includes(other) ? others : [other, ...others];
    return html`
      <div class="why-compare">
        <label><input type="checkbox" .checked=${against !== undefined} @change=${toggle} />
          why ${tokenName(keyTokens[key] ?? "")} rather than ${tokenName(keyTokens[other] ?? "")}?</label>
        ${against === undefined
          ? html`<span class="why-faint">The softmax does not see what all keys of a row have in common. A comparison leaves it out.</span>`
          : html`<select aria-label="The other key" .value=${String(other)} @change=${choose}>${offered.map(option)}</select>
              <span class="why-faint">All numbers but the last table’s are differences between the two keys.</span>`}
      </div>
    `;
  }

  #chain(link: Link, run: Run): TemplateResult {
    const { steps, unchanged } = chainOf(link, run);
    const without = unchanged.length > 0 ? html`<p class="why-faint">Nothing is changed by: ${unchanged.join(", ")}.</p>` : nothing;
    return html`
      <ol class="why-chain" aria-label="From the score to the weight">
        ${steps.map(({ name, value }) => html`<li><b>${value}</b> <span>${name}</span></li>`)}
      </ol>
      ${without}
    `;
  }

  #partsOf(maps: RunMaps, numbers: Shown, link: Link): TemplateResult {
    if (this.#table?.of !== numbers || this.#table.open !== this.#open) {
      const naming = { query: namingOf(maps.run, "query"), key: namingOf(maps.run, "key") };
      this.#table = { of: numbers, open: this.#open, table: partsTable(link.cell, naming, this.#open) };
    }
    const { table } = this.#table;
    const actions = {
      toggle: (side: Side, { name }: Entry): void => this.#toggle(`${side} ${name}`),
      isHead: ({ kind }: StreamPart): boolean => kind === "head" || kind === "cross",
      show: (side: Side, part: StreamPart): void => this.#show(maps.run, link, side, part),
    };
    const caption = link.against === undefined ? "The score by parts of query and key" : "The difference by parts of query and keys";
    const entries = [...table.cols, ...table.rows];
    const stops = entries.filter(({ isOpen, part }) => isOpen !== undefined || (part && actions.isHead(part))).length;
    return html`
      <p class="why-caption" aria-hidden="true">${caption}</p>
      <div class="why-scroll scrolled" @keydown=${this.#parts.onKey} @focusin=${this.#parts.onFocus}>
        ${tableOf(table, caption, this.host.colors, this.#parts.at(stops), actions)}
      </div>
      <p class="why-faint" part="sum">${sumInWords(table.sum, link.cell.score)}</p>
    `;
  }

  #toggle(group: string): void {
    const open = new Set(this.#open);
    if (!open.delete(group)) open.add(group);
    this.#open = open;
    this.host.requestUpdate();
  }

  /** Opens the earlier head that wrote a part, at the token that it wrote it for. */
  #show(run: Run, { row, key }: Link, side: Side, { kind, layer = 0, head = 0 }: StreamPart): void {
    const attention = attentionOf(run, side, kind);
    const query = String(side === "query" ? row : key);
    this.host.change({ query, key: "", against: "", ...(attention !== run.shown && { attention }) });
    this.host.showHead(layer, head);
  }

  #row({ tokens, keyTokens }: RunMaps, { row, key }: Link, keys: RowTable): TemplateResult {
    const pin = (to: number): void => this.host.change({ query: String(row), key: String(to) });
    const point = (col: number | undefined): void => {
      this.#own = col === undefined ? undefined : { row, col };
      this.host.point(this.#own);
    };
    const caption = `The scores of ${tokenName(tokens[row] ?? "")} by parts of the keys that it looks at most`;
    const stop = this.#keys.at(keys.keys.length);
    return html`
      <p class="why-caption" aria-hidden="true">${caption}</p>
      <div class="why-scroll scrolled" @keydown=${this.#keys.onKey} @focusin=${this.#keys.onFocus}>
        ${rowTableOf(keys, keyTokens, key, caption, this.host.colors, stop, pin, point)}
      </div>
    `;
  }
}

/** The attention that a part's head belongs to. */
function attentionOf({ shown }: Run, side: Side, kind: StreamPart["kind"]): AttentionName {
  if (kind === "cross") return "cross";
  if (shown !== "cross") return shown;
  return side === "key" ? "encoder" : "decoder";
}

/** Explains a link. What the engine cannot explain is said in its words. */
async function explain(maps: RunMaps, place: Place): Promise<Shown> {
  const { layer, head } = place;
  const row = await rowOf(maps, place);
  try {
    const explained = await maps.run.explained();
    const asked = { layer, head, query: row, ...maps.run.of };
    const rowExplained = await explained.explain(asked);
    const visible = visibleKeys(rowExplained);
    const key = place.col ?? visible[0] ?? 0;
    const against = place.against === "" ? undefined : otherOf(place.against, key, visible);
    const cell = await explained.explain({ ...asked, key, ...(against !== undefined && { against }) });
    const keys = rowTable(rowExplained, namingOf(maps.run, "key"), key);
    return { link: { row, key, against, cell, rowExplained }, keys, visible };
  } catch (error) {
    if (isReleased(error) || !(error instanceof Error) || !("code" in error)) throw error;
    return { refusal: `This cannot be explained: ${error.message}.` };
  }
}

/** The key with which one is compared: the given one, or the strongest other one. */
function otherOf(against: string, key: number, visible: readonly number[]): number | undefined {
  const given = Number(against);
  return visible.includes(given) && given !== key ? given : visible.find((other) => other !== key);
}

export const whyView: ViewCode = { styles: whyStyles, create: (host) => new WhyView(host) };
