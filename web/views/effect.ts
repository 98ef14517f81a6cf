// SPDX-License-Identifier: Apache-2.0
/**
 * The effect of a head: what it writes and copies, what the model expects after each layer, and what changes when the
 * head is silenced, a token blanked, or the head patched from another text.
 */
import type { AsyncModelAttention } from "headlens";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { AttentionName } from "../maps/run.js";
import { isReleased, type MapSource } from "../maps/source.js";
import { isSilenced } from "../maps/silenced.js";
import { tokenName } from "../maps/tokens.js";
import type { Cursor } from "../state/group.js";
import { toggled } from "../state/lists.js";
import { pinnedRows } from "../state/pins.js";
import {
  type Change, type ChangeAt, changeAt, changesInWords, compare, endChange, findMovedHeads, type Patched, patchedText,
  patchFrom, whyNoPatch,
} from "./effect-change.js";
import { effectOf, type HeadEffect } from "./effect-numbers.js";
import { changeSection, copiesSection, lensSection, writtenSection } from "./effect-sections.js";
import { effectStyles } from "./effect-styles.js";
import { Followed, type RunMaps } from "./followed.js";
import { chosenPlace, type HeadPlace, onPlaceKey, rowOf } from "./place.js";
import { Roving } from "./roving.js";
import type { Host, View, ViewCode } from "./view.js";

interface Place extends HeadPlace {
  /** The number of the patch that is in force. */
  readonly patch?: number | undefined;
}

interface Shown {
  readonly effect: HeadEffect;
  readonly at: ChangeAt | undefined;
}

/** A patch of one head of a run. */
interface Patch extends Patched {
  readonly number: number;
  readonly of: RunMaps;
  readonly layer: number;
  readonly head: number;
}

class EffectView implements View {
  readonly #followed: Followed<Place, Shown>;
  /** The changes that have been compared, by the runs with them. Only the shown one stays. */
  readonly #changes = new Map<AsyncModelAttention, Promise<Change>>();
  #patch: Patch | undefined;
  #patchCount = 0;
  /** The text that a patch shall come from, while the reader is asked for it, and the attention that it is for. */
  #other: string | undefined;
  #otherFor: AttentionName | undefined;
  /** Says why there is no patch, or that it is on its way. */
  #said = "";
  /** The place that this view's own pointer is at, which it does not follow. */
  #own: Cursor | undefined;
  readonly #strip: Roving;
  readonly #heads: Roving;

  constructor(private readonly host: Host) {
    const update = (): void => host.requestUpdate();
    const fetch = (maps: RunMaps, place: Place): Promise<Shown> => this.#fetch(maps, place);
    this.#followed = new Followed(fetch, () => this.#drawn(), (error) => host.fail(error));
    [this.#strip, this.#heads] = [new Roving(update), new Roving(update)];
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".effect-tools button")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    const { layer, head } = this.host.state;
    return this.#followed.shown ? [[layer, head]] : [];
  }

  clear(): void {
    this.#followed.clear();
    this.#unpatch();
    this.#endChanges(undefined);
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    if (maps.run?.shown !== this.#otherFor) this.#other = undefined;
    await this.#followed.load(maps, this.#place(maps), signal);
    if (this.#patch && !this.#isInForce(this.#patch, maps)) this.#unpatch();
    this.#drawn();
  }

  #isInForce({ of, layer, head }: Patch, maps: MapSource): boolean {
    return of === maps && layer === this.host.state.layer && head === this.host.state.head;
  }

  prepare(maps: MapSource): Promise<void> {
    return this.#followed.prepare(maps, this.#place(maps));
  }

  #place(maps: MapSource): Place {
    const patch = this.#patch && this.#isInForce(this.#patch, maps) ? this.#patch.number : undefined;
    return { ...chosenPlace(maps, this.host, this.#own), patch };
  }

  async #fetch(maps: RunMaps, place: Place): Promise<Shown> {
    const { run } = maps;
    const row = await rowOf(maps, place);
    const patch = this.#patch?.number === place.patch ? this.#patch : undefined;
    const changed = patch?.attention ?? (run.attention === run.unchanged ? undefined : run.attention);
    const change = changed && this.#changeOf(maps, changed, patch?.words ?? changesInWords(run));
    const [effect, at] = await Promise.all([
      effectOf(maps, place.layer, place.head, row, place.col),
      change?.then((compared) => changeAt(compared, run, row)),
    ]);
    return { effect, at };
  }

  #changeOf({ run }: RunMaps, after: AsyncModelAttention, words: string): Promise<Change> {
    const known = this.#changes.get(after);
    if (known) return known;
    const change = compare(run, after, words);
    this.#changes.set(after, change);
    change.catch(() => this.#changes.delete(after));
    return change;
  }

  /** Shows what was fetched, and compares the maps of all heads after that. */
  #drawn(): void {
    this.host.drawn(this);
    const { shown } = this.#followed;
    const change = shown?.numbers.at?.change;
    this.#endChanges(change);
    if (!shown || !change) return;
    findMovedHeads(change, shown.maps.run, () => this.host.requestUpdate()).catch((error: unknown) => {
      if (!change.isOver) this.host.fail(error);
    });
  }

  #endChanges(except: Change | undefined): void {
    for (const [after, change] of this.#changes) {
      if (after === except?.after) continue;
      this.#changes.delete(after);
      change.then(endChange, () => undefined);
    }
  }

  render(): TemplateResult {
    const { shown } = this.#followed;
    if (!shown) return html``;
    const { maps, numbers: { effect, at } } = shown;
    if (!this.#own || this.host.cursor !== this.#own) this.#followed.follow(this.#place(maps));
    const onKey = (event: KeyboardEvent): void => onPlaceKey(event, this.host, { row: effect.row, col: effect.key });
    return html`
      <section class="effect" part="effect" @keydown=${onKey}>
        ${this.#tools(maps, effect)} ${this.#other === undefined ? nothing : this.#patchForm(maps, effect, this.#other)}
        ${at ? this.#change(maps, at, effect.row) : nothing}
        <div class="effect-sections">
          ${writtenSection(maps, effect)} ${copiesSection(maps, effect)}
          ${lensSection(maps, effect)}
        </div>
      </section>
    `;
  }

  #tools({ run, tokens, keyTokens }: RunMaps, { layer, head, row, key }: HeadEffect): TemplateResult {
    const { state } = this.host;
    // Only the decoder's tokens can be blanked: in its own attention those that are looked at.
    const [token, word] = run.shown === "cross" ? [row, tokens[row]] : [key, keyTokens[key]];
    const toggle = (isOn: boolean, act: () => void, words: TemplateResult): TemplateResult =>
      html`<button aria-pressed=${isOn ? "true" : "false"} @click=${act}>${words}</button>`;
    const has = (list: string, of: string): boolean => list.split(/[\s,]+/).includes(of);
    const silence = (): void => this.host.silence(layer, head);
    // The place is pinned too, so that the button stays that of this token.
    const blank = (): void =>
      this.host.change({ zeroToken: toggled(state.zeroToken, String(token)), query: String(row), key: String(key) });
    const ask = (): void => {
      this.#other = this.#other === undefined ? patchedText(run) : undefined;
      this.#otherFor = run.shown;
      this.#said = "";
      this.host.requestUpdate();
    };
    return html`
      <div class="effect-tools" role="group" aria-label="Break it">
        ${toggle(isSilenced(run.changes.ablate, { attention: run.shown, layer, head }), silence, html`Silence this head <kbd>s</kbd>`)}
        ${run.shown === "encoder" ? nothing : toggle(has(state.zeroToken, String(token)), blank, html`Blank ${tokenName(word ?? "")}`)}
        <button aria-expanded=${this.#other === undefined ? "false" : "true"} @click=${ask}>Patch from another text …</button>
      </div>
    `;
  }

  #patchForm(maps: RunMaps, { layer, head }: HeadEffect, text: string): TemplateResult {
    const reason = whyNoPatch(maps.run);
    if (reason !== undefined) return html`<p class="effect-faint effect-patch">${reason}</p>`;
    const apply = (): void => void this.#apply(maps, layer, head);
    const onKey = (event: KeyboardEvent): void => {
      // Letters are text here, and no keys of the view.
      event.stopPropagation();
      if (event.key === "Enter") apply();
    };
    const type = ({ target }: Event): void => void (this.#other = (target as HTMLInputElement).value);
    const remove = (): void => {
      this.#unpatch();
      this.host.requestUpdate();
    };
    const { changes } = maps.run;
    const isChanged = maps.run.attention !== maps.run.unchanged;
    return html`
      <div class="effect-patch" role="group" aria-label="Patch from another text">
        <label>Another ${maps.run.info.encoder ? (maps.run.shown === "encoder" ? "source" : "target") : "text"} <input type="text" .value=${text} maxlength="10000" @input=${type} @keydown=${onKey} /></label>
        <button @click=${apply}>Patch</button>
        ${this.#patch ? html`<button @click=${remove}>Remove the patch</button>` : nothing}
        <p class="effect-faint" role="status">${this.#said === "" ? `Head ${layer}.${head} gives here what it gives in the other text: at all tokens if both texts have as many, and else at the pinned ones. The sections below stay those of this text.${isChanged ? ` The patch is made in the run without changes${changes.ablate.length > 0 ? ", where no head is silenced" : ""}.` : ""}` : this.#said}</p>
      </div>
    `;
  }

  async #apply(maps: RunMaps, layer: number, head: number): Promise<void> {
    this.#say("Computing …");
    try {
      const rows = pinnedRows(maps, this.host.state);
      const patched = await patchFrom(maps, layer, head, this.#other ?? "", rows);
      if (typeof patched === "string") return this.#say(patched);
      this.#unpatch();
      this.#patch = { ...patched, number: ++this.#patchCount, of: maps, layer, head };
      this.#say("");
    } catch (error) {
      // A newer text has released the run, which is nothing to report.
      this.#say(isReleased(error) ? "" : error instanceof Error ? error.message : String(error));
    }
  }

  #say(words: string): void {
    this.#said = words;
    this.host.requestUpdate();
  }

  #unpatch(): void {
    const patch = this.#patch;
    this.#patch = undefined;
    patch?.attention.dispose();
  }

  #change(maps: RunMaps, at: ChangeAt, row: number): TemplateResult {
    const { state } = this.host;
    const point = (to: number | undefined): void => {
      this.#own = to === undefined ? undefined : { row: to };
      this.host.point(this.#own);
    };
    return changeSection(maps, at, row, this.host.colors, this.#strip, this.#heads, {
      pin: (to, isAdded) => {
        // The strip has the decoder's tokens, which are no rows of the encoder's maps.
        if (maps.run.shown === "encoder") return;
        this.host.change({ query: isAdded ? toggled(state.query, String(to)) : String(to) });
      },
      point,
      open: ({ layer, head }) => {
        if (maps.run.shown !== "decoder") this.host.change({ attention: "decoder" });
        this.host.showHead(layer, head);
      },
    });
  }
}

export const effectView: ViewCode = { styles: effectStyles, create: (host) => new EffectView(host) };
