// SPDX-License-Identifier: Apache-2.0
/** The plot of composition: heads as dots, layer above layer, and arcs from earlier heads to those that read them. */
import { html, nothing, svg } from "lit";
import type { SVGTemplateResult, TemplateResult } from "lit";
import type { HeadNames } from "../heads/rules.js";
import { type Head, headName } from "../state/lists.js";
import { type Arc, arcKey, inWords } from "./composition-data.js";
import type { Roving } from "./roving.js";

/** The distance of layers in pixels, and those of heads at least and at most. */
const kStep = 64;
const [kNarrow, kWide] = [48, 96];

export interface CompositionPlot {
  /** The number of heads of each layer. */
  readonly heads: readonly number[];
  /** The strongest comes first. */
  readonly arcs: readonly Arc[];
  readonly names: HeadNames | undefined;
  /** The room for the plot, in pixels. */
  readonly width: number;
  readonly open: Arc | undefined;
  readonly headStop: Roving;
  readonly arcStop: Roving;
  show(this: void, arc: Arc): void;
  point(this: void, arc: Arc | undefined): void;
  openHead(this: void, head: Head): void;
  onHeadKey(this: void, event: KeyboardEvent, head: Head): void;
  onArcKey(this: void, event: KeyboardEvent, arc: Arc): void;
}

type Place = (head: Head) => readonly [x: number, y: number];

export function compositionPlot(plot: CompositionPlot): TemplateResult {
  const { heads, arcs, headStop, arcStop } = plot;
  const widest = Math.max(...heads);
  const step = Math.max(kNarrow, Math.min(kWide, Math.floor((plot.width - 32) / widest)));
  const [width, height] = [widest * step, heads.length * kStep];
  const place: Place = ({ layer, head }) => [(head + 0.5) * step, height - (layer + 0.5) * kStep];
  const most = arcs.reduce((largest, { value }) => Math.max(largest, value), 0);
  const places = heads.flatMap((count, layer) => Array.from({ length: count }, (_, head) => ({ layer, head })));
  const [arcAt, headAt] = [arcStop.at(arcs.length), headStop.at(places.length)];
  return html`
    <div class="composition-plot" .style=${`width: ${width}px; height: ${height}px`}>
      <div role="group" aria-label="Paths as arcs, the strongest first" @keydown=${arcStop.onKey} @focusin=${arcStop.onFocus}>
        <svg width=${width} height=${height} role="presentation">
          ${arcs.map((arc, index) => arcOf(plot, arc, index, index === arcAt, place, most > 0 ? arc.value / most : 0))}
        </svg>
      </div>
      <div role="group" aria-label="Heads, layer 0 at the bottom" @keydown=${headStop.onKey} @focusin=${headStop.onFocus}>
        ${places.map((head, index) => dotOf(plot, head, index, index === headAt, place))}
      </div>
    </div>
  `;
}

function arcOf(
  plot: CompositionPlot, arc: Arc, index: number, isStop: boolean, place: Place, strength: number,
): SVGTemplateResult {
  const [[fromX, fromY], [toX, toY]] = [place(arc.earlier), place(arc.later)];
  const isOpen = plot.open !== undefined && arcKey(arc) === arcKey(plot.open);
  const share = Math.max(strength, 0);
  const path = `M${fromX} ${fromY}C${fromX} ${(fromY + toY) / 2} ${toX} ${(fromY + toY) / 2} ${toX} ${toY}`;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return plot.onArcKey(event, arc);
    event.preventDefault();
    plot.show(arc);
  };
  const point = (): void => plot.point(arc);
  return svg`<g class=${isOpen ? "composition-arc open" : "composition-arc"} role="button" data-stop=${index}
    tabindex=${isStop ? 0 : -1} aria-pressed=${isOpen ? "true" : "false"} aria-label=${inWords(arc)}
    @click=${(): void => plot.show(arc)} @keydown=${onKey} @focus=${point} @pointerenter=${point}
    @blur=${(): void => plot.point(undefined)} @pointerleave=${(): void => plot.point(undefined)}>
    <path d=${path} class="composition-hit"></path>
    <path d=${path} stroke-width=${1 + 4 * share} stroke-opacity=${0.3 + 0.7 * share}></path></g>`;
}

function dotOf(plot: CompositionPlot, head: Head, index: number, isStop: boolean, place: Place): TemplateResult {
  const [x, y] = place(head);
  const name = plot.names?.[head.layer]?.[head.head]?.name;
  const isOpen = [plot.open?.earlier, plot.open?.later].some((of) => of && headName(of) === headName(head));
  return html`<button class=${isOpen ? "composition-dot open" : "composition-dot"} .style=${`left: ${x}px; top: ${y}px`}
    data-stop=${index} tabindex=${isStop ? 0 : -1} title=${name ?? ""}
    @click=${(): void => plot.openHead(head)} @keydown=${(event: KeyboardEvent): void => plot.onHeadKey(event, head)}
  >${headName(head)}${name === undefined ? nothing : html`<span class="unseen">, ${name}</span>`}</button>`;
}
