// SPDX-License-Identifier: Apache-2.0
/** Sentences, bars, curves, shapes, notes and live views. */
import { html, nothing, svg } from "lit";
import type { TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { formatSum } from "../../maps/format.js";
import { symbols } from "../../views/matrix-table.js";
import { table, type Bars, type Curve, type Note, type Sentence, type Shape, type View } from "../scene.js";
import { litWhole, type Hands, type Look } from "./look.js";
import { drawTable } from "./table.js";
import { toneOf } from "./tones.js";

export function drawSentence(item: Sentence, look: Look, hands: Hands): TemplateResult {
  const { tokens, weights, query, control } = item;
  const word = (token: string, index: number): TemplateResult => {
    const weight = weights?.[index];
    const tone = weight === undefined ? "" : toneOf(weight, "sequential", 1);
    const share = weight === undefined ? nothing : html`<small>${(weight * 100).toFixed(weight < 0.1 || (weight > 0.99 && weight < 1) ? 1 : 0)} %</small>`;
    const text = html`<span class="word ${tone}">${token}</span>${share}`;
    if (control === undefined) return html`<li class=${index === query ? "query" : ""}>${text}</li>`;
    const choose = (): void => hands.change(control, index);
    return html`<li class=${index === query ? "query" : ""}><button ?disabled=${!look.isAlive} aria-pressed=${index === query} @click=${choose}>${text}</button></li>`;
  };
  return html`<ol class="sentence ${litWhole(look, item.name)}" aria-label=${item.name}>${tokens.map(word)}</ol>`;
}

const kBar = 160;

export function drawBars({ name, labels, values, most, digits = 3 }: Bars, look: Look): TemplateResult {
  const full = most ?? Math.max(...values.map(Math.abs), 1e-30);
  const bar = (label: string, index: number): TemplateResult => {
    const value = values[index] ?? NaN;
    const length = Math.min(Math.abs(value) / full, 1) * kBar;
    return html`
      <tr>
        <th scope="row">${symbols(label)}</th>
        <td><svg viewBox="0 0 ${kBar} 12" preserveAspectRatio="none" aria-hidden="true"><rect class=${value < 0 ? "negative" : "positive"} width=${length} height="12" /></svg></td>
        <td class="number">${formatSum(value, digits)}</td>
      </tr>
    `;
  };
  return html`<table class="bars ${litWhole(look, name)}"><caption>${symbols(name)}</caption><tbody>${labels.map(bar)}</tbody></table>`;
}

const [kWidth, kHeight, kLeft, kBottom, kTop, kRight] = [420, 210, 44, 36, 12, 84];

/** A curve is drawn for the eye; the table behind it, which is unseen, holds its numbers. */
export function drawCurve(item: Curve, look: Look): TemplateResult {
  const { x, y, lines, at } = item;
  const along = x.scale === "log" ? Math.log : (value: number): number => value;
  const every = lines.flatMap((line) => [...line.values]);
  const [low, high] = [y.min ?? Math.min(0, ...every), y.max ?? Math.max(...every)];
  const [first, last] = [along(x.values[0] ?? 0), along(x.values.at(-1) ?? 1)];
  const [across, down] = [kWidth - kLeft - kRight, kHeight - kTop - kBottom];
  const px = (value: number): number => kLeft + ((along(value) - first) / (last - first || 1)) * across;
  const py = (value: number): number => kTop + (1 - (value - low) / (high - low || 1)) * down;
  const path = (values: readonly number[]): string =>
    x.values.map((value, i) => `${px(value).toFixed(1)},${py(values[i] ?? NaN).toFixed(1)}`).join(" ");
  const few = [0, Math.floor(x.values.length / 2), -1].map((i) => x.values.at(i) ?? 0);
  const ticks = x.values.length <= 8 ? x.values : few;
  return html`
    <figure class="curve ${litWhole(look, item.name)}">
      <figcaption>${item.name}</figcaption>
      <svg viewBox="0 0 ${kWidth} ${kHeight}" aria-hidden="true">
        <path class="axis" d="M${kLeft} ${kTop}V${kHeight - kBottom}H${kWidth - kRight}" />
        ${[low, high].map((value) => svg`<text x=${kLeft - 6} y=${py(value) + 4} text-anchor="end">${formatTick(value)}</text>`)}
        ${ticks.map((value) => svg`<text x=${px(value)} y=${kHeight - kBottom + 16} text-anchor="middle">${formatTick(value)}</text>`)}
        <text x=${(kLeft + kWidth - kRight) / 2} y=${kHeight - 4} text-anchor="middle">${x.label}</text>
        ${at === undefined ? nothing : svg`<path class="at" d="M${px(at)} ${kTop}V${kHeight - kBottom}" />`}
        ${lines.map(({ values }, index) => svg`<polyline class="line line${index}" points=${path(values)} />`)}
        ${labelsOf(lines.map(({ name, values }) => ({ name, y: py(values.at(-1) ?? NaN) }))).map(({ name, y: place }, index) =>
          svg`<text class="name line${index}" x=${kWidth - kRight + 6} y=${place + 4}>${name}</text>`)}
      </svg>
      <table class="unseen">
        <caption>${item.name}</caption>
        <thead><tr><th scope="col">${x.label}</th>${lines.map(({ name }) => html`<th scope="col">${name}, ${y.label}</th>`)}</tr></thead>
        <tbody>${x.values.map((value, i) => html`<tr><th scope="row">${formatTick(value)}</th>${lines.map(({ values }) => html`<td>${formatSum(values[i] ?? NaN, 3)}</td>`)}</tr>`)}</tbody>
      </table>
    </figure>
  `;
}

/** Whole numbers are exact, such as a width of 1024. */
const formatTick = (value: number): string =>
  String(Number.isInteger(value) ? value : Number(value.toPrecision(3))).replace("-", "−");

/** Moves names that would stand on each other apart. */
function labelsOf(names: readonly { name: string; y: number }[]): { name: string; y: number }[] {
  const kApart = 14;
  const placed = names.map((one) => ({ ...one }));
  const sorted = [...placed].sort((a, b) => a.y - b.y);
  for (const [index, one] of sorted.entries()) one.y = Math.max(one.y, (sorted[index - 1]?.y ?? -kApart) + kApart);
  return placed;
}

export const drawShape = ({ name, sizes, axes }: Shape, look: Look): TemplateResult => html`
  <div class="shape ${litWhole(look, name)}">
    <span class="shape-name">${symbols(name)}</span>
    <ol>${sizes.map((size, index) => html`<li><b>${size}</b><i>${axes[index] ?? ""}</i></li>`)}</ol>
  </div>
`;

export const drawNote = ({ text, tone }: Note): TemplateResult => html`<p class="note ${tone}">${text}</p>`;

/** The element comes when a figure with a live view is alive. */
export function drawView(item: View, look: Look, hands: Hands): TemplateResult {
  if (!look.isAlive) return html`<div class="stand">${drawTable(table(item.stands), look, hands, undefined)}</div>`;
  const put = (element: Element | undefined): void => {
    for (const [name, value] of Object.entries(item.attributes))
      if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
  };
  return html`<attention-map class="view ${litWhole(look, item.name)}" aria-label=${item.name} ${ref(put)}></attention-map>`;
}
