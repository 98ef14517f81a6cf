// SPDX-License-Identifier: Apache-2.0
/** The texts of two sides as one: what both have once, and between it what only one of them has. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { percent } from "../heads/finding.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { kMostPairs, type Pair } from "./compare-align.js";
import type { Aligned } from "./compare-other.js";

/** So many common tokens stand on each side of what differs; the others are counted. */
const kAround = 4;

/** Tokens one after the other that both sides have, or only one. */
interface Stretch {
  readonly of: "A" | "B" | "both";
  readonly tokens: string[];
}

/** The stretches of two texts as far as they are aligned. */
function stretchesOf(a: readonly string[], b: readonly string[], pairs: readonly Pair[]): Stretch[] {
  const stretches: Stretch[] = [];
  const add = (of: Stretch["of"], tokens: readonly string[]): void => {
    if (tokens.length === 0) return;
    const last = stretches.at(-1);
    if (last?.of === of) last.tokens.push(...tokens);
    else stretches.push({ of, tokens: [...tokens] });
  };
  let [nextA, nextB] = [0, 0];
  const addOwn = (endA: number, endB: number): void => {
    add("A", a.slice(nextA, endA));
    add("B", b.slice(nextB, endB));
  };
  for (const [atA, atB] of pairs) {
    addOwn(atA, atB);
    add("both", a.slice(atA, atA + 1));
    [nextA, nextB] = [atA + 1, atB + 1];
  }
  if (pairs.length < kMostPairs) addOwn(a.length, b.length);
  return stretches;
}

const inWords = (tokens: readonly string[]): TemplateResult =>
  html`${tokens.map((token, index) => html`${index > 0 ? " " : ""}${tokenLabel(token)}`)}`;

/** Common tokens between two differences: those beside the differences, and how many there are between them. */
function common(tokens: readonly string[], isFirst: boolean, isLast: boolean): TemplateResult {
  const [begin, end] = [isFirst ? 0 : kAround, isLast ? 0 : kAround];
  const left = tokens.length - begin - end;
  if (left <= 1) return inWords(tokens);
  return html`${inWords(tokens.slice(0, begin))} <small>… ${left} more …</small> ${inWords(tokens.slice(begin + left))}`;
}

type Shown = TemplateResult | typeof nothing;

/** The words of one axis, or nothing where both sides have the same. */
function words(label: string, a: readonly string[], b: readonly string[], pairs: readonly Pair[]): Shown {
  const stretches = stretchesOf(a, b, pairs);
  if (stretches.every(({ of }) => of === "both")) return nothing;
  const one = ({ of, tokens }: Stretch, index: number): TemplateResult => {
    if (of === "both") return common(tokens, index === 0, index === stretches.length - 1);
    const text = html`<b><span class="unseen">only in </span>${of}</b> ${inWords(tokens)}`;
    return of === "A" ? html`<del>${text}</del>` : html`<ins>${text}</ins>`;
  };
  return html`<p class="cmp-words">${label === "" ? nothing : html`<small>${label}</small> `}${stretches.map((stretch, index) => html`${one(stretch, index)} `)}</p>`;
}

/** Shows the differences between the texts of two sides, of rows and columns apart where these are others. */
export function differingWords({ equal: { rows, cols }, sides: [{ maps: a }, { maps: b }] }: Aligned): Shown {
  if (rows === cols || a.tokens === a.keyTokens) return words("", a.tokens, b.tokens, rows);
  return html`${words("queries:", a.tokens, b.tokens, rows)}${words("keys:", a.keyTokens, b.keyTokens, cols)}`;
}

/** The name of an aligned token, and of the one that has replaced it in B. */
export function pairName([a, b]: Pair, tokensA: readonly string[], tokensB: readonly string[]): string {
  const [inA, inB] = [tokenName(tokensA[a] ?? ""), tokenName(tokensB[b] ?? "")];
  return inA === inB ? inA : `${inA} (B: ${inB})`;
}

/** Says where a row looks most in A, and in B. */
export function topsInWords({ rows, sides, tops }: Aligned, row: number): string {
  const pair = rows[row] ?? [0, 0];
  const query = (side: 0 | 1): string => tokenName(sides[side].maps.tokens[pair[side]] ?? "");
  const most = (side: 0 | 1): string => {
    const { key, weight } = tops[side][row] ?? { key: 0, weight: 0 };
    return weight > 0 ? `at ${tokenName(sides[side].maps.keyTokens[key] ?? "")} (${percent(weight)})` : "at nothing";
  };
  const again = query(0) === query(1) ? "" : `${query(1)} `;
  return `In A, ${query(0)} looks most ${most(0)}; in B, ${again}${most(1)}.`;
}
