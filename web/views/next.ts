// SPDX-License-Identifier: Apache-2.0
/** The tokens that the model expects after the chosen token, or the classes that it sees in a picture. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { Expected } from "../maps/expected.js";
import type { MapSource } from "../maps/source.js";
import { isSpecial } from "../maps/tokens.js";
import { pinnedRows, placeOf } from "../state/pins.js";
import { expectedAt, expectedBars, expectsInWords, kExpectedStyles, predictedAt, whyNothing } from "./expected.js";
import { Followed, type RunMaps } from "./followed.js";
import type { Host, View, ViewCode } from "./view.js";

/** The numbers of tokens that are listed, at first and on request. */
const kFew = 5;
const kMore = 10;

interface Shown {
  readonly row: number;
  readonly expected: readonly Expected[];
}

class NextView implements View {
  #hasMore = false;
  /** The predictions that listeners were told of last. */
  #told = "";
  readonly #followed: Followed<number, Shown>;

  constructor(private readonly host: Host) {
    this.#followed = new Followed(fetchNext, () => this.#drawn(), (error) => host.fail(error));
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".next-more")?.focus();
  }

  clear(): void {
    this.#followed.clear();
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    await this.#followed.load(maps, this.#row(maps), signal);
    this.#drawn();
  }

  #drawn(): void {
    this.host.drawn(this);
    const { maps, numbers } = this.#followed.shown ?? {};
    if (!maps || !numbers || numbers.expected.length === 0) return;
    const told = JSON.stringify(numbers);
    if (told !== this.#told) this.host.predicted(numbers.row, maps.tokens[numbers.row] ?? "", numbers.expected);
    this.#told = told;
  }

  #row(maps: MapSource): number {
    const { cursor, state } = this.host;
    return pinnedRows(maps, state).at(-1) ?? placeOf(maps, cursor, state).row ?? usualRow(maps);
  }

  render(): TemplateResult {
    const { shown } = this.#followed;
    if (!shown) return html``;
    const { maps, numbers: { row, expected } } = shown;
    this.#followed.follow(this.#row(maps));
    const reason = whyNothing(maps.run);
    if (reason !== undefined) return html`<p class="next-none" part="next">${reason}</p>`;
    const heading = expectsInWords(maps.run.info, maps.tokens[row] ?? "");
    return html`
      <section class="next" part="next">
        <p class="next-title" aria-live="polite">${heading}</p>
        ${expectedBars(expected.slice(0, this.#hasMore ? kMore : kFew), maps.run.info, heading)}
        ${expected.length > kFew ? this.#more() : nothing}
      </section>
    `;
  }

  #more(): TemplateResult {
    const toggle = (): void => {
      this.#hasMore = !this.#hasMore;
      this.host.requestUpdate();
    };
    return html`<button class="next-more" aria-expanded=${this.#hasMore ? "true" : "false"} @click=${toggle}>${this.#hasMore ? "fewer" : "more"}</button>`;
  }
}

/** A blank, as BERT and RoBERTa write it. */
const isBlank = (token: string): boolean => token === "[MASK]" || token === "<mask>";

/** The row that is asked where nothing is chosen: the last, or in a model that reads both ways a blank, or else the text's last token. */
function usualRow({ tokens, run }: MapSource): number {
  const last = tokens.length - 1;
  if (!run || run.info.causal || run.info.encoder || run.info.image) return last;
  const blank = tokens.findLastIndex(isBlank);
  return blank >= 0 ? blank : Math.max(tokens.findLastIndex((token) => !isSpecial(token)), 0);
}

async function fetchNext({ run }: RunMaps, row: number): Promise<Shown> {
  if (whyNothing(run) !== undefined) return { row, expected: [] };
  return { row, expected: await expectedAt(run.attention, run.unchanged, predictedAt(run.info, row), kMore) };
}

const own = css`
  /* It keeps one line, as the finding beside it keeps two. */
  .next-title {
    margin: 0 0 8px;
    overflow: hidden;
    font: 600 14px/24px system-ui, sans-serif;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .next-none {
    margin: 0;
    color: var(--faint);
  }
  .next-more {
    min-width: 44px;
    min-height: 24px;
    margin-top: 4px;
    padding: 0 8px;
    color: var(--accent);
  }
  @media (pointer: coarse) {
    .next-more {
      min-height: 44px;
    }
  }
`;

const styles = css`${kExpectedStyles}${own}`;

export const nextView: ViewCode = { styles, create: (host) => new NextView(host) };
