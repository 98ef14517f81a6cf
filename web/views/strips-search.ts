// SPDX-License-Identifier: Apache-2.0
/** A search for a token in the maps of all heads: those that look at it most come first. */
import { css, html } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import type { MapSource } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import { allMeans, type Found, type HeadMeans, lookers, placesOf } from "./strips-data.js";
import { mostOf } from "./token-row.js";
import type { Host } from "./view.js";

/** The most heads that a search lists. */
const kListed = 12;

export class TokenSearch {
  #maps: MapSource | undefined;
  #typed = "";
  #work: AbortController | undefined;
  #heads: readonly HeadMeans[] = [];
  #count = 0;

  /** `open` is called with the head that a reader chose, and the place of the token that it looks at. */
  constructor(
    private readonly host: Host, private readonly open: (layer: number, head: number, key: number) => void,
  ) {}

  clear(): void {
    this.#work?.abort();
    this.#work = this.#maps = undefined;
    [this.#heads, this.#count] = [[], 0];
  }

  /** Searches these maps from now on. */
  of(maps: MapSource): void {
    this.#maps = maps;
    if (this.#typed !== "" && !this.#work) void this.#measure();
  }

  render(maps: MapSource): TemplateResult {
    const places = placesOf(maps.keyTokens, this.#typed);
    const isBusy = this.#count === 0 || this.#heads.length < this.#count;
    const found = places.length > 0 && this.#heads.length > 0 ? lookers(this.#heads, places, kListed) : [];
    const most = mostOf(found.map(({ value }) => value));
    const words =
      this.#typed.trim() === "" ? "" :
      places.length === 0 ? "No token begins so." :
      isBusy ? `${this.#heads.length} of ${this.#count} heads` :
      `${places.length} ${places.length > 1 ? "tokens begin" : "token begins"} so: ${[...new Set(places.map((place) => tokenName(maps.keyTokens[place] ?? "")))].slice(0, 5).join(", ")}`;
    const one = ({ layer, head, value, key }: Found): TemplateResult => html`
      <li><button @click=${(): void => this.open(layer, head, key)}>
        <span class="strips-head">${layer}.${head}</span>
        <span class="strips-bar" .style=${`--share: ${most > 0 ? Math.max(value / most, 0) : 0}`}></span>
        <span class="strips-value">${formatValue(value, 3)}</span>
      </button></li>
    `;
    return html`
      <p class="strips-title">Find a token in every map</p>
      <p class="strips-note">The heads that look at it most: the mean weight over the queries that may see it, and over all its places.</p>
      <label class="strips-search"><span class="unseen">Find a token in every map</span>
        <input type="search" autocomplete="off" spellcheck="false" placeholder=${`such as ${(maps.keyTokens.find((token) => /^\s?\p{L}{3,}/u.test(token)) ?? "a").trim().slice(0, 24)}`}
          .value=${this.#typed} @input=${this.#onInput} @keydown=${(event: Event): void => event.stopPropagation()}>
      </label>
      <p class="strips-note" role="status">${words}</p>
      <ol class="strips-found">${found.map(one)}</ol>
    `;
  }

  readonly #onInput = (event: Event): void => {
    this.#typed = (event.target as HTMLInputElement).value;
    this.host.requestUpdate();
    if (!this.#work) void this.#measure();
  };

  /** Measures all heads of these maps once. */
  async #measure(): Promise<void> {
    const maps = this.#maps;
    if (!maps) return;
    const work = (this.#work = new AbortController());
    try {
      await allMeans(maps, work.signal, (heads, count) => {
        [this.#heads, this.#count] = [[...heads], count];
        this.host.requestUpdate();
      });
    } catch (error) {
      if (work.signal.aborted) return;
      this.#work = undefined;
      this.host.fail(error);
    }
  }
}

export const searchStyles = css`
  .strips-search input {
    width: min(320px, 100%);
  }
  .strips-found {
    max-width: 480px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .strips-found button {
    display: grid;
    grid-template-columns: 6ch minmax(0, 1fr) 7ch;
    align-items: center;
    gap: 8px;
    width: 100%;
    min-height: 24px;
    text-align: start;
  }
  .strips-found button:hover {
    color: var(--accent);
  }
  .strips-head,
  .strips-value {
    font-family: var(--mono);
  }
  .strips-bar {
    width: calc(var(--share) * 100%);
    min-width: 2px;
    height: 10px;
    border-radius: 2px;
    background: currentColor;
    opacity: 0.75;
  }
  @media (pointer: coarse) {
    .strips-found button {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .strips-bar {
      background: Highlight;
    }
  }
`;
