// SPDX-License-Identifier: Apache-2.0
/** The heads whose lines are drawn, with their colours. Each is a button that leaves the others out. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { kNoPattern } from "../heads/no-pattern.js";
import { headName, headsOf } from "../state/lists.js";
import { kHeadColors } from "./lines-draw.js";
import type { Links } from "./lines-links.js";
import { combinedInWords } from "./lines-words.js";
import type { Host } from "./view.js";

export const kMostHeads = 12;

export function linesLegend(
  { state, colors: { theme }, names }: Host, { heads }: Links, only: number | undefined,
  toggle: (index: number) => void,
): TemplateResult {
  const colors = kHeadColors[theme];
  const swatch = (index: number): TemplateResult => html`<span class="lines-swatch" .style=${`background: ${colors[index] ?? ""}`}></span>`;
  const combined = combinedInWords(state);
  const [first] = heads;
  if (combined !== undefined || !first || heads.length === 1)
    return html`<div class="lines-legend" role="group" aria-label="Heads"><span class="lines-head">${swatch(0)}${combined ?? (first && headName(first))}</span></div>`;
  const entries = heads.map((head, index) => {
    const name = names?.[head.layer]?.[head.head]?.name;
    const named = name === undefined || name === kNoPattern ? nothing : html` <span class="lines-named">${name}</span>`;
    return html`<button class="lines-head" aria-pressed=${only === index ? "true" : "false"} title="Only this head" @click=${(): void => toggle(index)}>${swatch(index)}${headName(head)}${named}</button>`;
  });
  const isMore = heads.length === kMostHeads && new Set(headsOf("heads", state.heads).map(headName)).size >= kMostHeads;
  return html`<div class="lines-legend" role="group" aria-label="Heads">${entries} ${isMore ? html`<span>No more than ${kMostHeads} heads are drawn.</span>` : nothing}</div>`;
}
