// SPDX-License-Identifier: Apache-2.0
/** The numbers of a vector as bars side by side, one for each dimension. */
import { html, nothing, svg } from "lit";
import type { TemplateResult } from "lit";
import type { Strip } from "./numbers-steps.js";

/** Numbers are written below bars that are at least so wide, in pixels. */
const kNumberWidth = 42;

/**
 * `lit` is the dimension that is highlighted, and `light` is called when it shall be another. The arrow keys change it in
 * the bars that are a tab stop; the others follow.
 */
export function dimensionBars(
  { name, values }: Strip, width: number, lit: number | undefined, light: (dim: number | undefined) => void,
  isStop: boolean,
): TemplateResult {
  const count = values.length;
  const top = values.reduce((most, value) => Math.max(most, value), 0);
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const span = top - low || 1;
  const y = (value: number): number => ((top - value) / span) * 100;
  const bar = (value: number, dim: number): TemplateResult => svg`<rect class=${value < 0 ? "num-minus" : "num-plus"} x=${dim + 0.1} width="0.8" y=${y(Math.max(value, 0))} height=${Math.max((Math.abs(value) / span) * 100, 0.5)}></rect>`;
  const inside = (dim: number): number => Math.min(Math.max(dim, 0), count - 1);
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    light(inside(Math.floor(((event.clientX - box.left) / box.width) * count)));
  };
  const onKey = (event: KeyboardEvent): void => {
    const to = movedTo(event, lit ?? -1, count - 1);
    if (to === undefined) return;
    event.preventDefault();
    light(inside(to));
  };
  const number = (value: number, dim: number): TemplateResult =>
    html`<span class=${dim === lit ? "num-lit" : ""}>${short(value)}</span>`;
  return html`
    <div class="num-strip">
      <span class="num-name">${name} <small>${short(low)} … ${short(top)}</small></span>
      <div class="num-bars" tabindex=${isStop ? "0" : nothing} role=${isStop ? "slider" : nothing} aria-hidden=${isStop ? nothing : "true"}
        aria-label=${isStop ? "Dimension" : nothing} aria-valuemin=${isStop ? 0 : nothing} aria-valuemax=${isStop ? count - 1 : nothing}
        aria-valuenow=${isStop ? (lit ?? 0) : nothing} @keydown=${isStop ? onKey : nothing} @blur=${(): void => light(undefined)}
        @pointermove=${point} @pointerdown=${point} @pointerleave=${(event: PointerEvent): void => void (event.pointerType === "mouse" && light(undefined))}>
        <svg viewBox=${`0 0 ${count} 100`} preserveAspectRatio="none" aria-hidden="true">
          ${lit === undefined ? nothing : svg`<rect class="num-band" x=${lit} y="0" width="1" height="100"></rect>`}
          ${Array.from(values, bar)}
          <line class="num-zero" x1="0" x2=${count} y1=${y(0)} y2=${y(0)}></line>
        </svg>
        ${width / count >= kNumberWidth ? html`<div class="num-numbers">${Array.from(values, number)}</div>` : nothing}
      </div>
    </div>
  `;
}

/** The dimension that a key leads to. */
function movedTo(event: KeyboardEvent, dim: number, last: number): number | undefined {
  if (event.altKey || event.metaKey || event.ctrlKey) return undefined;
  const moves: Readonly<Record<string, number>> = {
    ArrowRight: dim + 1, ArrowUp: dim + 1, ArrowLeft: dim - 1, ArrowDown: dim - 1, Home: 0, End: last,
  };
  return moves[event.key];
}

/** A number below a bar, with three digits. */
function short(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
}
