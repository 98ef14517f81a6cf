// SPDX-License-Identifier: Apache-2.0
/** The tokens that a model expects, with their probabilities before and after a reader's changes, as bars. */
import type { AsyncModelAttention, ModelInfo, Prediction } from "headlens";
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { Expected } from "../maps/expected.js";
import { formatValue } from "../maps/format.js";
import type { Run } from "../maps/run.js";
import { tokenLabel, tokenName, tokenText } from "../maps/tokens.js";

/** The most characters of a class's name that are shown. */
const kLongestClass = 40;

/** The sentence for models that expect nothing where their maps are shown; undefined for those that do. */
export function whyNothing({ info, shown }: Run): string | undefined {
  if (info.logits === 0) return "This model has no output layer, so there is nothing that it expects.";
  if (shown === "encoder") return "The encoder only reads the source. Its decoder expects tokens: choose the decoder’s attention or the cross-attention.";
  return undefined;
}

/** A model of pictures has one prediction, which is counted as its first token's. */
export const predictedAt = ({ image }: ModelInfo, row: number): number => (image ? 0 : row);

/** Says where a model expects something: "After ‘and’, the model expects". */
export function expectsInWords({ image, causal, encoder }: ModelInfo, token: string): string {
  if (image) return "In this picture, the model sees";
  return causal || encoder ? `After ${tokenName(token)}, the model expects` : `At ${tokenName(token)}, the model expects`;
}

/** A reader of the probabilities of all tokens, on the scale that the engine gave the likeliest one. */
export async function probabilities(
  attention: AsyncModelAttention, position: number, likeliest: Prediction | undefined, layer?: number,
): Promise<(id: number) => number> {
  const { data } = await attention.logits({ rows: [position, position + 1], ...(layer !== undefined && { layer }) });
  const { logit, probability } = likeliest ?? { logit: NaN, probability: NaN };
  return (id) => probability * Math.exp((data[id] ?? NaN) - logit);
}

/** The likeliest tokens, of either run if there are two, the largest probability first. */
export async function expectedAt(
  now: AsyncModelAttention, before: AsyncModelAttention | undefined, position: number, top: number,
): Promise<Expected[]> {
  const asked = { position, top };
  if (!before || before === now) return now.predictions(asked);
  const [after, earlier] = await Promise.all([now.predictions(asked), before.predictions(asked)]);
  const [share, shareBefore] = await Promise.all([
    probabilities(now, position, after[0]),
    probabilities(before, position, earlier[0]),
  ]);
  const tokens = new Map([...earlier, ...after].map(({ id, token }) => [id, token]));
  const all = Array.from(tokens, ([id, token]) => ({ id, token, probability: share(id), before: shareBefore(id) }));
  const most = ({ probability, before: of }: (typeof all)[number]): number => Math.max(probability, of);
  return all.sort((a, b) => most(b) - most(a)).slice(0, top);
}

/** A probability in words that are true: never 100 % for less, nor 0 % for more. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  if (share < 1 && share >= 0.9995) return "> 99.9 %";
  return `${formatValue(100 * share, 1)} %`;
}

/** A signed number with its sign always written. */
export const signed = (value: number, digits: number): string => {
  const text = formatValue(Math.abs(value), digits);
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
};

function inWords({ probability, before }: Expected, name: string): string {
  if (before === undefined) return `${name}: ${percent(probability)}`;
  const change = 100 * (probability - before);
  return `${name}: ${percent(probability)}, before the changes ${percent(before)}, ${signed(change, 1)} points`;
}

/** A class of pictures: its name, with invisible characters made visible, or its number. */
export function className({ labels }: ModelInfo, { id, token }: Pick<Expected, "id" | "token">): string {
  const words = labels ? token.split(" ").filter((word) => word !== "") : [];
  const name = words.map((word) => tokenText(word, kLongestClass)).join(" ");
  if (name === "") return `class ${id}`;
  return name.length > kLongestClass ? `${[...name].slice(0, kLongestClass - 1).join("")}…` : name;
}

/** The bars. Tokens of models of pictures are classes. */
export function expectedBars(expected: readonly Expected[], info: ModelInfo, label: string): TemplateResult {
  const { image } = info;
  const isCompared = expected.some(({ before }) => before !== undefined);
  const item = (of: Expected): TemplateResult => {
    const asClass = className(info, of);
    const [name, shown] = image ? [asClass, html`<bdi>${asClass}</bdi>`] : [tokenName(of.token), tokenLabel(of.token)];
    const { probability, before } = of;
    return html`<li>
      <span class="unseen">${inWords(of, name)}</span>
      <span class="expected-token" aria-hidden="true">${shown}</span>
      <span class="expected-bar" aria-hidden="true">
        <i class="now" .style=${`--share: ${probability}`}></i>
        ${before === undefined ? nothing : html`<i class="before" .style=${`--share: ${before}`}></i>`}
      </span>
      <span class="expected-value" aria-hidden="true">${percent(probability)}</span>
      ${before === undefined ? nothing : html`<span class="expected-change ${probability < before ? "less" : ""}" aria-hidden="true">${signed(100 * (probability - before), 1)}</span>`}
    </li>`;
  };
  return html`
    <ol class="expected ${isCompared ? "compared" : ""}" aria-label=${label}>${expected.map(item)}</ol>
    ${isCompared ? html`<p class="expected-key"><span class="sample before"></span> before <span class="sample now"></span> after the changes, and the change in percentage points</p>` : nothing}
  `;
}

export const kExpectedStyles = css`
  .expected {
    max-width: 720px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .expected li {
    position: relative;
    display: grid;
    grid-template-columns: minmax(64px, 14ch) minmax(0, 1fr) 8ch;
    align-items: center;
    gap: 8px;
    min-height: 28px;
  }
  .expected.compared li {
    grid-template-columns: minmax(56px, 14ch) minmax(0, 1fr) 8ch 6ch;
  }
  @container (max-width: 480px) {
    .expected li {
      grid-template-columns: 9ch minmax(0, 1fr) 8ch;
    }
    .expected.compared li {
      grid-template-columns: 9ch minmax(0, 1fr) 7ch 6ch;
    }
  }
  .expected-token {
    overflow: hidden;
    text-align: end;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .expected-bar {
    position: relative;
    height: 14px;
    background: linear-gradient(var(--line), var(--line)) bottom / 100% 1px no-repeat;
  }
  .expected-bar i {
    position: absolute;
    inset-block: 0;
    inset-inline-start: 0;
    width: calc(var(--share) * 100%);
    border-radius: 0 2px 2px 0;
  }
  .expected-bar .now,
  .sample.now {
    min-width: 1px;
    background: color-mix(in oklab, var(--ink) 60%, transparent);
  }
  .expected-bar .before,
  .sample.before {
    border: 1.5px solid var(--ink);
  }
  .expected-bar .before {
    inset-block: -2px;
    min-width: 3px;
    border-inline-start: 0;
  }
  .expected-value,
  .expected-change {
    font: 13px/20px var(--mono);
    text-align: end;
    white-space: nowrap;
  }
  .expected-change {
    color: light-dark(#1c5fa8, #7db4f0);
  }
  .expected-change.less {
    color: light-dark(#9a4a10, #f0a46a);
  }
  .expected-key {
    margin: 4px 0 0;
    color: var(--faint);
    font-size: 12px;
  }
  .sample {
    display: inline-block;
    width: 16px;
    height: 10px;
    vertical-align: -1px;
  }
  @media (forced-colors: active) {
    .expected-bar .now,
    .sample.now {
      forced-color-adjust: none;
      background: Highlight;
    }
  }
`;
