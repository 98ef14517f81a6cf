// SPDX-License-Identifier: Apache-2.0
/** The words, lists and tables around a text that is read token by token. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { type Look, rowColors } from "../maps/canvas.js";
import { tintStyle } from "../maps/ink.js";
import type { Run } from "../maps/run.js";
import type { Picture } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { bytesOfToken } from "./decode-cache.js";
import { type Expected, type Format, kFormats, type ReadToken, type TokenReading } from "./decode-reading.js";
import { exact } from "./map.js";

export const asPicture = (row: Float32Array): Picture =>
  ({ part: { rows: [0, 1], cols: [0, row.length] }, size: [1, row.length], values: row });

/** The source's tokens, tinted by what the newest token looks at. */
export function sourceStrip(names: readonly string[], { row }: ReadToken, look: Look): TemplateResult {
  const colors = rowColors(asPicture(row), look);
  const chip = (name: string, index: number): TemplateResult =>
    html`<span class="decode-chip" .style=${tintStyle(colors.subarray(index * 4, index * 4 + 4))} title=${exact(row[index] ?? NaN)}>${tokenLabel(name)}</span>`;
  return html`<div class="decode-strip scrolled"><span class="decode-label">source</span>${names.map(chip)}</div>`;
}

/** The tokens that the model expects after a token, and the one that came. */
export function nextTokens({ token, expected }: ReadToken, came: ReadToken["came"]): TemplateResult {
  const most = expected[0]?.probability ?? 1;
  const line = ({ id, token: name, probability }: Expected, rank: number): TemplateResult => html`
    <li class=${id === came?.id ? "decode-came" : ""}>
      <span class="decode-bar" .style=${`--share: ${probability / most}`}>${tokenLabel(name)}</span>
      <span>${percent(probability)}</span><span>${id === came?.id ? `came, ${ordinal(rank)}` : ""}</span>
    </li>`;
  const isListed = expected.some(({ id }) => id === came?.id);
  return html`
    <span class="decode-caption">after ${tokenName(token)}, the model expects</span>
    <ol class="decode-next">
      ${expected.map((of, index) => line(of, index + 1))} ${came && !isListed ? line(came, came.rank) : nothing}
    </ol>
    ${came ? nothing : html`<p class="decode-note">Nothing has come yet: the text ends here.</p>`}
  `;
}

/** The size of the cache after a step. */
export function sizeInWords({ info, unchanged }: Run, { firstKey, length }: ReadToken, format: Format): TemplateResult {
  const kept = length - firstKey;
  const bytes = (tokens: number, of: Format): string => (tokens * bytesOfToken(info, kFormats[of])).toLocaleString("en");
  const other: Format = format === "float32" ? "bfloat16" : "float32";
  const count = unchanged.sourceTokens?.length ?? 0;
  const source = info.encoder ? ` The keys and values of the source’s ${count} tokens are computed once, and are not counted here.` : "";
  return html`<p class="decode-note decode-bytes">The cache holds ${kept} ${kept === 1 ? "token" : "tokens"}: <b>${bytes(kept, format)} bytes</b> in ${format}, ${bytes(1, format)} a token; in ${other} it would be ${bytes(kept, other)}.${source}</p>`;
}

/** The distance of the rows of a reading from those of the whole text. */
export function exactness(reading: TokenReading, step: number): TemplateResult {
  const difference = reading.difference(step);
  let soFar = 0;
  for (let before = 0; before <= step; before++) soFar = Math.max(soFar, reading.difference(before) ?? 0);
  return html`<p class="decode-note decode-exact">${difference === undefined
    ? "This row is being compared with that of the whole text …"
    : html`This row differs from that of the whole text by at most <b>${small(difference)}</b>; all rows up to it by at most <b>${small(soFar)}</b>.`}</p>`;
}

/** The newest row, for readers who hear it. `names` are those of its keys. */
export function newestRow({ token, row }: ReadToken, names: readonly string[]): TemplateResult {
  const line = (weight: number, index: number): TemplateResult =>
    html`<tr><th scope="row">${tokenName(names[index] ?? "")}</th><td>${exact(weight)}</td></tr>`;
  return html`
    <div class="unseen"><table class="decode-newest">
      <caption>The row of ${tokenName(token)}</caption>
      <thead><tr><th scope="col">key</th><th scope="col">weight</th></tr></thead>
      <tbody>${Array.from(row, line)}</tbody>
    </table></div>
  `;
}

/** A share as per cent. Neither 0 nor 100 is written for what is only close to it. */
function percent(share: number): string {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return share < 1 && share >= 0.9995 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`;
}

const small = (value: number): string => (value === 0 ? "0" : value.toExponential(1).replaceAll("-", "−"));

function ordinal(rank: number): string {
  const ending = rank % 100 > 10 && rank % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][rank % 10] ?? "th");
  return `${rank}${ending}`;
}
