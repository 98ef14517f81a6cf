// SPDX-License-Identifier: Apache-2.0
/** A drawing as a vector graphic: words as text, hatching as a pattern, maps as pictures of their cells. */
import { type Drawing, kFonts, type Patch, type Raster, type Words } from "./drawing.js";
import { kSurroundings } from "../maps/palette.js";

/** Text in XML: without the characters that it cannot have, and with names for those that mean something. */
function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  // oxlint-disable-next-line no-control-regex -- XML has no such characters
  const clean = text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  return clean.replace(/[&<>"']/g, (char) => names[char] ?? "");
}

/** Numbers as short as a drawing needs them. */
const short = (value: number): string => String(Math.round(value * 100) / 100);

const box = ({ x, y, width, height }: Patch | Raster): string =>
  `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;

/** Some programs smooth the pixels of pictures that they enlarge, so these are enlarged here: to this many at most. */
const kMostPixels = 2 ** 19;

/** A picture of the pixels as a data: URL, in which each pixel is a square of several. */
function urlOf({ pixels, width, height }: Raster): string {
  const wanted = Math.max(1, Math.ceil(Math.max((2 * width) / pixels.width, (2 * height) / pixels.height)));
  const factor = Math.max(1, Math.min(wanted, Math.floor(Math.sqrt(kMostPixels / (pixels.width * pixels.height)))));
  const [small, large] = [document.createElement("canvas"), document.createElement("canvas")];
  [small.width, small.height] = [pixels.width, pixels.height];
  small.getContext("2d")?.putImageData(pixels, 0, 0);
  [large.width, large.height] = [pixels.width * factor, pixels.height * factor];
  const context = large.getContext("2d");
  if (context) context.imageSmoothingEnabled = false;
  context?.drawImage(small, 0, 0, large.width, large.height);
  return large.toDataURL("image/png");
}

function wordsOf({ x, y, width, text, turn, size, weight, isMono, fill }: Words): string {
  const turned = turn === 0 ? "" : ` transform="rotate(${turn} ${short(x)} ${short(y)})"`;
  const font = `font-size="${short(size)}"${weight === "400" ? "" : ` font-weight="${weight}"`}${isMono ? ' class="mono"' : ""}`;
  // A line is as long as it was, whatever font there is. Isolates keep names of other directions in their place.
  const place = `x="${short(x)}" y="${short(y)}" dy="0.35em" textLength="${short(width)}" lengthAdjust="spacingAndGlyphs"`;
  const length = turn === 0 ? place : place.replace(/ textLength.*/, "");
  return `<text ${length} ${font} fill="${fill}"${turned} direction="ltr" xml:space="preserve">\u2068${escaped(text)}\u2069</text>`;
}

function shapeOf(shape: Drawing["shapes"][number]): string {
  if (shape.kind === "words") return wordsOf(shape);
  if (shape.kind === "patch") return `<rect ${box(shape)} fill="${shape.fill ?? "url(#masked)"}"/>`;
  return `<image ${box(shape)} preserveAspectRatio="none" image-rendering="pixelated" style="image-rendering:pixelated" href="${urlOf(shape)}"/>`;
}

export function svgOf({ width, height, theme, title, shapes }: Drawing): string {
  const size = `width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}"`;
  const { stripe } = kSurroundings[theme];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="${escaped(kFonts.plain)}">`,
    `<title>${escaped(title)}</title>`,
    `<style>.mono{font-family:${kFonts.mono}}</style>`,
    '<defs><pattern id="masked" width="6" height="6" patternUnits="userSpaceOnUse">'
    + `<path d="M-1 -1L7 7M-1 5L1 7M5 -1L7 1" stroke="${stripe}"/></pattern></defs>`,
    ...shapes.map(shapeOf),
    "</svg>",
    "",
  ].join("\n");
}
