// SPDX-License-Identifier: Apache-2.0
/** Vectors of two numbers as arrows and points, which are dragged where a control holds them. */
import { html, nothing, svg } from "lit";
import type { TemplateResult } from "lit";
import { formatSum } from "../../maps/format.js";
import type { Cells, Controls } from "../lesson.js";
import type { Plane, PlaneMark } from "../scene.js";
import type { Hands, Look } from "./look.js";

const [kSide, kEdge] = [260, 20];
/** The radius of what a finger can hold. */
const kHold = 16;

export function drawPlane(item: Plane, controls: Controls, look: Look, hands: Hands): TemplateResult {
  const { name, from, to, marks, area } = item;
  const unit = (kSide - 2 * kEdge) / (to - from);
  const px = (x: number): number => kEdge + (x - from) * unit;
  const py = (y: number): number => kSide - px(y);
  const steps = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const line = (value: number): TemplateResult => {
    const kind = value === 0 ? "axis" : "grid";
    return svg`<path class=${kind} d="M${px(value)} ${py(from)}V${py(to)}M${px(from)} ${py(value)}H${px(to)}" />`;
  };
  const label = (value: number): TemplateResult => svg`
    <text class="number" x=${px(value)} y=${kSide - 4} text-anchor="middle">${String(value).replace("-", "−")}</text>
    <text class="number" x=${kEdge - 5} y=${py(value) + 4} text-anchor="end">${String(value).replace("-", "−")}</text>`;
  // The first arrow is broad, and its name stands below, so that others which lie on it are seen.
  const mark = (one: PlaneMark, index: number): TemplateResult => {
    const [x, y] = [px(one.at[0]), py(one.at[1])];
    const color = one.form === "result" ? "result" : `mark${one.tone ?? index % 3} ${one.isFaint ? "faint" : ""}`;
    const side = x > kSide - 70 ? "end" : "start";
    const isFirst = one.form === "arrow" && index === 0;
    return svg`
      ${one.form === "arrow" ? svg`<path class="arrow ${color}" d="M${px(0)} ${py(0)}L${x} ${y}" />` : nothing}
      <circle class=${color} cx=${x} cy=${y} r=${one.form === "result" ? 6 : isFirst ? 7 : 4.5} />
      <text x=${x + (side === "end" ? -9 : 9)} y=${isFirst ? y + 18 : y - 7} text-anchor=${side}>${one.name}</text>
    `;
  };
  const hold = (one: PlaneMark): TemplateResult => {
    const control = one.control === undefined ? undefined : controls[one.control.name];
    if (!look.isAlive || control?.kind !== "cells") return html``;
    const move = (event: PointerEvent): void => {
      const held = event.currentTarget as SVGGraphicsElement;
      const screen = held.getScreenCTM();
      if (!held.hasPointerCapture(event.pointerId) || !screen) return;
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(screen.inverse());
      put(one, control, [from + (x - kEdge) / unit, from + (kSide - y - kEdge) / unit], look, hands);
    };
    const take = (event: PointerEvent): void => {
      event.preventDefault();
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    };
    return svg`<circle class="hold" data-mark=${one.name} cx=${px(one.at[0])} cy=${py(one.at[1])} r=${kHold} @pointerdown=${take} @pointermove=${move} />`;
  };
  return html`
    <figure class="plane">
      <figcaption>${name}</figcaption>
      <svg viewBox="0 0 ${kSide} ${kSide}" aria-hidden="true">
        ${steps.map(line)}${steps.filter((value) => value % 2 === 0 || to - from <= 4).map(label)}
        ${area === undefined ? nothing : svg`<polygon class="area" points=${area.map(([x, y]) => `${px(x)},${py(y)}`).join(" ")} />`}
        ${marks.map(mark)}${marks.map(hold)}
      </svg>
      <table class="unseen">
        <caption>${name}</caption>
        <tbody>${marks.map((one) => html`<tr><th scope="row">${one.name}</th>${one.at.map((value) => html`<td>${formatSum(value, 2)}</td>`)}</tr>`)}</tbody>
      </table>
    </figure>
  `;
}

/** Puts a mark to the nearest numbers that the control can have. */
function put({ control }: PlaneMark, { min, max, step }: Cells, to: readonly number[], look: Look, hands: Hands): void {
  if (!control) return;
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const near = (value: number): number =>
    Number(Math.min(Math.max(Math.round(value / step) * step, min), max).toFixed(digits));
  const rows = look.values[control.name] as Cells["value"];
  hands.change(control.name, rows.map((row, index) => (index === control.row ? to.map(near) : row)));
}
