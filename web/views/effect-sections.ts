// SPDX-License-Identifier: Apache-2.0
/** The sections of the view of a head's effect: what it writes and copies, the predictions after each layer, and changes. */
import type { PredictionChange, TokenLogit } from "headlens";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { Colors } from "../maps/canvas.js";
import { formatSum } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import { paletteOf } from "../maps/palette.js";
import type { Run } from "../maps/run.js";
import { codeIn } from "../maps/scale.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import type { ChangeAt, MovedHead, MovedHeads } from "./effect-change.js";
import type { Copies, HeadEffect, Lens } from "./effect-numbers.js";
import { className, expectedBars, expectsInWords, percent, signed } from "./expected.js";
import type { RunMaps } from "./followed.js";
import type { Roving } from "./roving.js";

/** The most tokens of the strip. In longer texts, those whose predictions change most are shown. */
const kStrip = 300;

const section = (title: string, content: TemplateResult, about = ""): TemplateResult => html`
  <div class="effect-section" role="group" aria-label=${title}>
    <p class="effect-title">${title}</p>
    ${content} ${about === "" ? nothing : html`<p class="effect-faint">${about}</p>`}
  </div>
`;

const refused = (refusal: string): TemplateResult => html`<p class="effect-faint effect-refused">${refusal}</p>`;

const labelOf = ({ info }: Run, of: { readonly id: number; readonly token: string }): TemplateResult =>
  (info.image ? html`<bdi>${className(info, of)}</bdi>` : tokenLabel(of.token));

/** Signed numbers as bars to the right, each with its sign. */
function bars(
  items: readonly { readonly label: TemplateResult; readonly value: number }[], most: number, name: string,
): TemplateResult {
  const item = ({ label, value }: (typeof items)[number]): TemplateResult => html`
    <li>
      <span class="effect-label">${label}</span>
      <i class="effect-bar ${value < 0 ? "less" : ""}" .style=${`--share: ${most > 0 ? Math.abs(value) / most : 0}`}></i>
      <span class="effect-value">${signed(value, 2)}</span>
    </li>
  `;
  return html`<ol class="effect-bars" aria-label=${name}>${items.map(item)}</ol>`;
}

export function writtenSection({ run, tokens }: RunMaps, { written, row, isSilenced }: HeadEffect): TemplateResult {
  const title = run.info.image ? "What the head writes towards the classes" : `What the head writes at ${tokenName(tokens[row] ?? "")}`;
  if ("refusal" in written) return section(title, refused(written.refusal));
  if (isSilenced) return section(title, refused("The head is silenced, so it writes nothing."));
  const { likelier, lessLikely } = written.value;
  const most = Math.max(0, ...[...likelier, ...lessLikely].map(({ logit }) => Math.abs(logit)));
  const items = (of: readonly TokenLogit[]): { label: TemplateResult; value: number }[] =>
    of.map((token) => ({ label: labelOf(run, token), value: token.logit }));
  const column = (name: string, of: readonly TokenLogit[]): TemplateResult =>
    html`<div><p class="effect-faint" aria-hidden="true">${name}</p>${bars(items(of), most, name)}</div>`;
  return section(
    title, html`<div class="effect-columns">${column("makes likelier", likelier)} ${column("makes less likely", lessLikely)}</div>`,
    "What it adds directly to the logits, with the final norm’s division frozen. What later layers make of it is left out.",
  );
}

export function copiesSection({ tokens }: RunMaps, { copies, row, isSilenced }: HeadEffect): TemplateResult {
  const title = `What the head copies to ${tokenName(tokens[row] ?? "")}`;
  if ("refusal" in copies) return section(title, refused(copies.refusal));
  if (isSilenced) return section(title, refused("The head is silenced, so it copies nothing."));
  return section(title, copyList(copies.value), `Each number says how far a part of a key moves what the head writes, whose length is ${formatSum(copies.value.length, 2)}. The ${copies.value.largest.length} largest of ${copies.value.count} are listed.`);
}

function copyList({ largest }: Copies): TemplateResult {
  const most = Math.max(0, ...largest.map(({ size }) => Math.abs(size)));
  const items = largest.map(({ words, size }) => ({ label: html`${words}`, value: size }));
  return html`<div class="effect-copies">${bars(items, most, "The largest parts that are copied")}</div>`;
}

export function lensSection({ run, tokens }: RunMaps, { lens, layer, row }: HeadEffect): TemplateResult {
  const title = run.info.image ? "What the model sees after each layer" : `${expectsInWords(run.info, tokens[row] ?? "").replace("expects", "would expect")} if it ended early`;
  if ("refusal" in lens) return section("Predictions after each layer", refused(lens.refusal));
  return section(title, lensTable(run, lens.value, layer));
}

function lensTable(run: Run, { answer, layers }: Lens, layer: number): TemplateResult {
  const line = ({ after, best, rank, share }: Lens["layers"][number]): TemplateResult => {
    const isHere = after === layer + 1;
    const name = after === 0 ? "the embeddings" : `layer ${after - 1}`;
    return html`
      <tr class=${isHere ? "here" : ""}>
        <th scope="row">${name}${isHere ? html` <span class="effect-here">this head’s</span>` : nothing}</th>
        <td class="effect-best">${labelOf(run, best)}</td>
        <td>${percent(best.probability)}</td>
        <td>${rank}</td>
        <td class="effect-share"><i class="effect-bar" aria-hidden="true" .style=${`--share: ${share}`}></i>${percent(share)}</td>
      </tr>
    `;
  };
  return html`
    <div class="effect-scroll scrolled" role="region" tabindex="0" aria-label="Predictions after each layer">
      <table class="effect-lens">
        <thead>
          <tr>
            <th scope="col" rowspan="2">after</th><th scope="colgroup" colspan="2">first choice</th>
            <th scope="colgroup" colspan="2">the answer, ${labelOf(run, answer)}</th>
          </tr>
          <tr><th scope="col">token</th><th scope="col">probability</th><th scope="col">rank</th><th scope="col">probability</th></tr>
        </thead>
        <tbody>${layers.map(line)}</tbody>
      </table>
    </div>
  `;
}

export interface ChangeActions {
  readonly pin: (row: number, isAdded: boolean) => void;
  readonly point: (row: number | undefined) => void;
  readonly open: (head: MovedHead) => void;
}

/** The effect of a change: on the prediction, on every token's, and on the maps of all heads. */
export function changeSection(
  { run, tokens }: RunMaps, { change, expected, changes }: ChangeAt, row: number, colors: Colors, strip: Roving,
  heads: Roving, actions: ChangeActions,
): TemplateResult {
  const heading = expectsInWords(run.info, tokens[row] ?? "");
  return html`
    <div class="effect-change" role="group" aria-label="Before and after the change">
      <p class="effect-title" aria-live="polite">Before and after: ${change.words}</p>
      ${expected.length === 0 ? nothing : html`<p class="effect-heading">${heading}</p>${expectedBars(expected.slice(0, 5), run.info, heading)}`}
      ${changes ? changedWords(run, changes.likelier, changes.lessLikely) : nothing}
      ${divergenceStrip(run, change.divergences, run.shown === "encoder" ? -1 : row, colors, strip, actions)}
      ${movedHeads(run, change.heads, heads, actions)}
    </div>
  `;
}

/** The tokens whose probability grew and fell by the largest factors. */
function changedWords(
  run: Run, likelier: readonly PredictionChange[], lessLikely: readonly PredictionChange[],
): TemplateResult {
  const factor = (of: PredictionChange, sign: number): TemplateResult => {
    const times = Math.exp(sign * of.change);
    const by = times >= 100 ? times.toFixed(0) : times.toFixed(1);
    return html`<span class="effect-times">${labelOf(run, of)} ${sign > 0 ? "×" : "÷"} ${by}</span> `;
  };
  return html`<p class="effect-faint">By the largest factors, these grew: ${likelier.filter(({ change }) => change > 0).map((of) => factor(of, 1))} and these fell: ${lessLikely.filter(({ change }) => change < 0).map((of) => factor(of, -1))}</p>`;
}

function divergenceStrip(
  { info, attention: { tokens } }: Run, divergences: Float32Array, chosen: number, { theme, ends }: Colors,
  roving: Roving, { pin, point }: ChangeActions,
): TemplateResult | typeof nothing {
  if (divergences.length === 0) return nothing;
  if (info.image) return html`<p>The prediction changes by ${formatSum(divergences[0] ?? 0, 3)} nats.</p>`;
  const most = divergences.reduce((of, value) => Math.max(of, value), 0);
  const digits = most < 0.1 ? 3 : 2;
  const all = [...divergences.keys()];
  const byChange = [...all].sort((a, b) => (divergences[b] ?? 0) - (divergences[a] ?? 0));
  const shown = all.length > kStrip ? byChange.slice(0, kStrip).sort((a, b) => a - b) : all;
  const stop = roving.at(shown.length);
  const { bytes } = paletteOf("sequential", theme, ends);
  const tint = (value: number): string => {
    const code = codeIn("root", Math.max(value, 0), most > 0 ? most : 1);
    return tintStyle(bytes.subarray(4 * code, 4 * code + 4));
  };
  const item = (row: number, index: number): TemplateResult => {
    const value = divergences[row] ?? 0;
    return html`<li><button
      data-stop=${index} tabindex=${index === stop ? 0 : -1} aria-pressed=${row === chosen ? "true" : "false"}
      @click=${(event: MouseEvent): void => pin(row, event.shiftKey)}
      @pointerenter=${(): void => point(row)} @pointerleave=${(): void => point(undefined)}
    >
      <span class="unseen">${tokenName(tokens[row] ?? "")}: ${formatSum(value, 3)} nats</span>
      <span class="effect-tint" aria-hidden="true" .style=${tint(value)}>${tokenLabel(tokens[row] ?? "")}</span>
      <small aria-hidden="true">${formatSum(value, digits)}</small>
    </button></li>`;
  };
  return html`
    <p class="effect-heading">Where predictions change most</p>
    <ol class="effect-strip" aria-label="How much the prediction at each token changes" @keydown=${roving.onKey} @focusin=${roving.onFocus}>
      ${shown.map(item)}
    </ol>
    <p class="effect-faint">KL divergence in nats: how surprised the changed model would be by what the unchanged one expects. The colours end at the largest, ${formatSum(most, digits)}.${all.length > kStrip ? ` The ${kStrip} tokens that change most are shown.` : ""}</p>
  `;
}

function movedHeads(
  { info }: Run, { isTooMuch, done, total, largest }: MovedHeads, roving: Roving, { open }: ChangeActions,
): TemplateResult {
  const stop = roving.at(largest.length);
  const which = info.encoder ? "decoder head" : "head";
  const item = (of: MovedHead, index: number): TemplateResult => html`<li><button
    data-stop=${index} tabindex=${index === stop ? 0 : -1} title="Open this head" @click=${(): void => open(of)}
  >${which} ${of.layer}.${of.head} <b>${percent(of.moved)}</b></button></li>`;
  const list = largest.length > 0
    ? html`<ol class="effect-heads" aria-label="The maps that changed most" @keydown=${roving.onKey} @focusin=${roving.onFocus}>${largest.map(item)}</ol>`
    : nothing;
  const progress = html`<p class="effect-faint" role="status"><progress aria-label="Heads compared" max=${total} .value=${done}></progress> ${done} of ${total} heads</p>`;
  const about = isTooMuch
    ? "The maps of so long a text are not compared."
    : largest.length > 0
    ? "The share of each head’s attention that goes elsewhere now."
    : `No map of a ${which} changes: only later layers see what this changes.`;
  return html`
    <p class="effect-heading">Maps that changed most</p>
    ${list} ${done < total && !isTooMuch ? progress : html`<p class="effect-faint">${about}</p>`}
  `;
}
