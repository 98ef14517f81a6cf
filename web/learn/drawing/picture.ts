// SPDX-License-Identifier: Apache-2.0
/** Pictures, drawn as shapes: pages that allow no images but files have no other way to show pixels that are computed. */
import { html, nothing, svg } from "lit";
import type { TemplateResult } from "lit";
import type { Picture } from "../scene.js";
import { litWhole, type Hands, type Look } from "./look.js";

/** The width of a picture on the page. */
const kSide = 208;

/** The faintest that a patch without weight becomes. */
const kMostFaded = 0.88;

export function drawPicture(item: Picture, look: Look, hands: Hands): TemplateResult {
  const { name, pixels, width, across, weights, query, chooses } = item;
  const height = pixels.length / width;
  const side = width / across;
  const most = Math.max(...weights ?? []);
  const patch = (index: number, kind: string, opacity: number): TemplateResult =>
    svg`<rect class=${kind} data-patch=${index} x=${(index % across) * side} y=${Math.floor(index / across) * side} width=${side} height=${side} fill-opacity=${opacity.toFixed(2)} />`;
  const fades = Array.from({ length: across * (height / side) }, (_, index) =>
    patch(index, "fade", weights ? kMostFaded * (1 - (weights[index] ?? 0) / (most || 1)) : 0));
  const choose = (event: Event): void => {
    const found = event.target instanceof SVGElement ? event.target.dataset.patch : undefined;
    const value = chooses?.values[Number(found)];
    if (chooses && value !== undefined) hands.change(chooses.control, value);
  };
  return html`
    <figure class="picture ${litWhole(look, name)} ${chooses && look.isAlive ? "chosen" : ""}">
      <figcaption>${name}</figcaption>
      <svg role="img" aria-label=${described(item)} viewBox="0 0 ${width} ${height}" width=${kSide} height=${(kSide * height) / width} @click=${choose}>
        ${pathsOf(pixels, width).map(([colour, path]) => svg`<path fill=${colour} d=${path} />`)}
        ${fades}
        ${query === undefined ? nothing : ["halo", "query"].map((kind) => patch(query, kind, 0))}
      </svg>
    </figure>
  `;
}

function described({ name, weights, across }: Picture): string {
  if (!weights) return name;
  const most = weights.indexOf(Math.max(...weights));
  return `${name}: most in row ${Math.floor(most / across)}, column ${most % across}`;
}

/** One path for each colour, of its runs of pixels. */
function pathsOf(pixels: readonly string[], width: number): [string, string][] {
  const paths = new Map<string, string>();
  for (let from = 0, to = 0; from < pixels.length; from = to) {
    const colour = pixels[from] ?? "";
    while (to < pixels.length && pixels[to] === colour && (to === from || to % width !== 0)) to++;
    const run = `M${from % width} ${Math.floor(from / width)}h${to - from}v1h${from - to}z`;
    paths.set(colour, (paths.get(colour) ?? "") + run);
  }
  return [...paths];
}
