// SPDX-License-Identifier: Apache-2.0
/** Makes of the shown content forms that can be taken elsewhere. The room web/export/ is loaded when the first is asked for. */
import type { BuiltInModel } from "headlens";
import type { Numbers } from "../export/numbers.js";
import type { Theme } from "../maps/palette.js";
import type { MapSource } from "../maps/source.js";
import { kFields, type State } from "../state/state.js";
import type { View } from "../views/view.js";
import type { Script } from "./script.js";

/** The content of an element that is exported. */
export interface Shown {
  readonly root: Element;
  readonly view: View;
  readonly maps: MapSource | undefined;
  readonly theme: Theme;
  readonly state: State;
  /** True for arrays that no attribute names. */
  readonly isGiven: boolean;
  readonly script: Script | undefined;
}

/** The most numbers that embedded lines hold. */
const kMostEmbedded = 40_000;

function titleOf({ state, view, maps }: Shown): string {
  const [first, ...more] = view.heads?.() ?? [];
  const what = !maps ? "Attention, worked out" : more.length > 0 ? "Attention of every head" : `Layer ${first?.[0]}, head ${first?.[1]}`;
  return state.text === "" ? what : `${what}: ${state.text.slice(0, 100)}`;
}

export async function toSVG({ root, theme, ...shown }: Shown): Promise<string> {
  const [{ drawingOf }, { svgOf }] = await Promise.all([import("../export/drawing.js"), import("../export/svg.js")]);
  return svgOf(drawingOf(root, theme, titleOf({ root, theme, ...shown })));
}

export async function toPNG({ root, theme, ...shown }: Shown, scale: number): Promise<Blob> {
  const [{ drawingOf }, { pngOf }] = await Promise.all([import("../export/drawing.js"), import("../export/png.js")]);
  return pngOf(drawingOf(root, theme, titleOf({ root, theme, ...shown })), scale);
}

async function numbersOf(form: string, { maps, view }: Shown): Promise<Numbers> {
  if (!maps) throw new Error(`this view has matrices of several sizes, which ${form} cannot hold: export JSON`);
  return (await import("../export/numbers.js")).numbersOf(maps, view.heads?.() ?? []);
}

export async function toCSV(shown: Shown): Promise<string> {
  const { csvOf } = await import("../export/numbers.js");
  return csvOf(await numbersOf("CSV", shown));
}

export async function toJSON(shown: Shown): Promise<string> {
  if (!shown.maps) return `${JSON.stringify(shown.view.matrices?.() ?? {})}\n`;
  const { jsonOf } = await import("../export/numbers.js");
  return jsonOf(await numbersOf("JSON", shown));
}

export async function toNPY(shown: Shown): Promise<Uint8Array<ArrayBuffer>> {
  const { npyOf } = await import("../export/numbers.js");
  return npyOf(await numbersOf("NumPy's format", shown));
}

/** The state of a page that has the maps themselves. A single head is the first of them there. */
function withMaps({ state, view }: Shown): Partial<State> {
  const isOne = view.heads?.().length === 1;
  return { ...state, text: "", src: "", model: kFields.model.initial, causal: false, ...(isOne && { layer: 0, head: 0 }) };
}

export async function toHTML(shown: Shown): Promise<string> {
  const [{ pageOf }, { compactOf }] = await Promise.all([import("../export/page.js"), import("../export/numbers.js")]);
  if (!shown.script) throw new Error("the script that draws is not known here");
  const [numbers, script] = await Promise.all([numbersOf("a page", shown), shown.script.text()]);
  if (script === "") throw new Error("the script that draws is a module of this page, and cannot be read: use headlens.arrays.js");
  return pageOf(titleOf(shown), withMaps(shown), await compactOf(numbers), script);
}

/** Their names are no addresses. */
const kBuiltIn: Readonly<Record<BuiltInModel, true>> = { "tiny": true, "tiny-bert": true, "tiny-vit": true, "tiny-translator": true };

/** Addresses that are relative to this page lead elsewhere from another one. */
function fromAnywhere(state: State): State {
  const { baseURI } = document;
  const absolute = (address: string): string =>
    URL.canParse(address, baseURI) ? new URL(address, baseURI).href : address;
  const isBuiltIn = Object.hasOwn(kBuiltIn, state.model);
  return { ...state, src: state.src && absolute(state.src), model: isBuiltIn ? state.model : absolute(state.model) };
}

/** The lines that show the same elsewhere: by its attributes where these say all, and with its numbers where those are few. */
export async function toEmbedCode(shown: Shown): Promise<string> {
  const [{ embedCode }, { compactOf }] = await Promise.all([import("../export/page.js"), import("../export/numbers.js")]);
  const { maps, view, state, script } = shown;
  const url = script?.url ?? "";
  if (!shown.isGiven || !maps) return embedCode(url, fromAnywhere(state), undefined);
  const cells = maps.tokens.length * maps.keyTokens.length * (view.heads?.().length ?? 0);
  if (cells > kMostEmbedded)
    throw new Error(`these maps have ${cells} numbers, too many for lines to paste: export a page, or put them into a file that src names`);
  return embedCode(url, withMaps(shown), await compactOf(await numbersOf("a page", shown)));
}
