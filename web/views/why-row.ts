// SPDX-License-Identifier: Apache-2.0
/** The scores of a query's keys by parts of the keys, for the keys that it looks at most. */
import type { RowExplanation } from "headlens";
import { html } from "lit";
import type { TemplateResult } from "lit";
import type { Colors } from "../maps/canvas.js";
import { formatSum } from "../maps/format.js";
import { groupsOf, type Naming, type PartGroup } from "../maps/parts.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { percent } from "./expected.js";
import { digitsFor, tintOf } from "./why-table.js";

/** The most keys, and the most groups of parts. What the other groups add is one more column. */
const kKeys = 12;
const kGroups = 8;

export interface RowTable {
  readonly keys: readonly number[];
  readonly groups: readonly PartGroup[];
  /** By key and group. */
  readonly values: readonly (readonly number[])[];
  readonly scores: readonly number[];
  readonly weights: readonly number[];
  readonly most: number;
}

/** The keys of a row that it may see, the largest weight first. */
export function visibleKeys({ steps: { maskedScores, weights } }: RowExplanation): number[] {
  const keys = [...weights.data.keys()].filter((key) => maskedScores.data[key] !== -Infinity);
  return keys.sort((a, b) => (weights.data[b] ?? 0) - (weights.data[a] ?? 0));
}

export function rowTable(row: RowExplanation, naming: Naming, chosen: number): RowTable {
  const { byKey, scores, steps, keyParts } = row;
  const width = scores.data.length;
  const strongest = visibleKeys(row).slice(0, kKeys);
  const keys = strongest.includes(chosen) ? strongest : [...strongest.slice(0, kKeys - 1), chosen];
  const sum = ({ members }: PartGroup, key: number): number =>
    members.reduce((of, part) => of + (byKey.data[part * width + key] ?? 0), 0);
  const weighed = groupsOf(keyParts, naming).map((group) => ({
    group, weight: keys.reduce((of, key) => of + Math.abs(sum(group, key)), 0),
  }));
  const sorted = weighed.sort((a, b) => b.weight - a.weight).map(({ group }) => group);
  const shown = sorted.length > kGroups ? kGroups - 1 : sorted.length;
  const [first, rest] = [sorted.slice(0, shown), sorted.slice(shown)];
  const others = { name: `${rest.length} other parts`, members: rest.flatMap(({ members }) => members) };
  const groups = rest.length > 0 ? [...first, others] : first;
  const values = keys.map((key) => groups.map((group) => sum(group, key)));
  const pick = (of: Float32Array): number[] => keys.map((key) => of[key] ?? NaN);
  const most = Math.max(0, ...values.flat().map(Math.abs));
  return { keys, groups, values, scores: pick(scores.data), weights: pick(steps.weights.data), most };
}

/** `stop` is the place of the key that is the tab stop. `pin` is called with the key that is chosen, and `point` with that under the pointer. */
export function rowTableOf(
  { keys, groups, values, scores, weights, most }: RowTable, keyTokens: readonly string[], chosen: number,
  caption: string, colors: Colors, stop: number, pin: (key: number) => void, point: (key: number | undefined) => void,
): TemplateResult {
  const digits = digitsFor(most);
  const line = (key: number, index: number): TemplateResult => html`
    <tr @pointerenter=${(): void => point(key)} @pointerleave=${(): void => point(undefined)}>
      <th scope="row"><button
        class="why-name" data-stop=${index} tabindex=${index === stop ? 0 : -1}
        aria-pressed=${key === chosen ? "true" : "false"}
        aria-label=${`${tokenName(keyTokens[key] ?? "")}, key ${key}`} @click=${(): void => pin(key)}
      >${tokenLabel(keyTokens[key] ?? "")}</button></th>
      ${(values[index] ?? []).map((value) => html`<td .style=${tintOf(value, most, colors)}>${formatSum(value, digits)}</td>`)}
      <td class="why-sum">${formatSum(scores[index] ?? NaN, digits)}</td>
      <td class="why-sum">${percent(weights[index] ?? NaN)}</td>
    </tr>
  `;
  return html`
    <table class="why-table why-keys" aria-label=${caption}>
      <thead>
        <tr>
          <td class="why-corner"><span>key ↓ its part →</span></td>
          ${groups.map(({ name }) => html`<th scope="col"><span class="why-name">${name}</span></th>`)}
          <th scope="col" class="why-sum">score</th>
          <th scope="col" class="why-sum">weight</th>
        </tr>
      </thead>
      <tbody>${keys.map(line)}</tbody>
    </table>
  `;
}
