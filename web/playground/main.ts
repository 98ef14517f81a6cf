// SPDX-License-Identifier: Apache-2.0
import "./start.js";
import { html, render } from "lit";
import type { TemplateResult } from "lit";
import { AttentionMap, type AttentionMapEvents } from "../elements/index.js";
import { fetchText } from "../elements/script.js";
import { sharedEngine } from "../maps/engine.js";
import { tintStyle } from "../maps/ink.js";
import { kScales } from "../maps/scale.js";
import { tokenLabel } from "../maps/tokens.js";
import { readAddress, writeAddress } from "../state/address.js";
import { kInitial, type State } from "../state/state.js";

// Exports from this page take the scripts of the package, which are copied beside it.
AttentionMap.script = {
  url: new URL("../../dist/headlens.standalone.js", import.meta.url).href,
  text: () => fetchText(new URL("../../dist/headlens.arrays.js", import.meta.url)),
};

/** In the built-in model head 2 of layer 3 finds the subject: the verbs ‘sat’ and ‘was’ look at ‘cat’. */
const kUsual: State = { ...kInitial, text: "The queen saw the king and she laughed.", layer: 3, head: 4 };

function byId<E extends Element>(id: string, type: new () => E): E {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`#${id} is missing`);
  return element;
}

const text = byId("text", HTMLTextAreaElement);
const scale = byId("scale", HTMLSelectElement);
const count = byId("count", HTMLElement);
const shared = byId("shared", HTMLElement);
const tokenList = byId("tokens", HTMLElement);
const engineLine = byId("engine", HTMLElement);
/** True when the grid and the open head are below each other. */
const isNarrow = matchMedia("(max-width: 959px)");
const grid = byId("grid", HTMLElement) as AttentionMap;
const map = byId("map", HTMLElement) as AttentionMap;

function listen<Name extends keyof AttentionMapEvents>(
  target: AttentionMap,
  name: Name,
  act: (detail: AttentionMapEvents[Name], event: Event) => void,
): void {
  target.addEventListener(name, (event) => act(event.detail, event));
}

// The address holds the state of the page: text, head and scale.

function readHash(): void {
  const { state: given, text: packed, needs } = readAddress(location.hash);
  const state = { ...kUsual, ...given };
  text.value = state.text;
  packed?.then((long) => {
    text.value = long;
    showText();
  }, (error: unknown) => say(String(error)));
  if (needs.length > 0) say(`This address could not hold the ${needs.join(" and the ")}. Please give it once more.`);
  scale.value = kScales.find((known) => known === state.scale) ?? kInitial.scale;
  chooseHead(state.layer, state.head);
  showScale();
  showText();
}

let hashTimer = 0;

/** Browsers limit how often an address may change, so it follows the typing with a delay. */
function writeHash(): void {
  clearTimeout(hashTimer);
  hashTimer = window.setTimeout(() => {
    void address().then((state) => history.replaceState(null, "", `#${state}`));
  }, 250);
}

const address = (more: Partial<State> = {}, usual = kUsual): Promise<string> =>
  writeAddress({ text: text.value, layer: map.layer, head: map.head, scale: scale.value, ...more }, usual);

function say(words: string): void {
  shared.textContent = words;
}

/** Copies what `make` gives. A page that is not secure has no clipboard, and shows it instead. */
async function copy(make: () => Promise<string>): Promise<void> {
  const made = await make();
  const { clipboard } = navigator as Partial<Navigator>;
  const isCopied = await clipboard?.writeText(made).then(() => true, () => false);
  say(isCopied === true ? "Copied." : made);
}

/** The lines that show the open head in a page that strips scripts. */
async function frameLines(): Promise<string> {
  const url = new URL(`./embed.html#${await address({ view: "map" }, kInitial)}`, location.href);
  const escaped = url.href.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<iframe src="${escaped}" title="Attention of layer ${map.layer}, head ${map.head}" width="100%" height="640" style="border: 0"></iframe>`;
}

function showScale(): void {
  for (const view of [grid, map]) view.scale = scale.value;
}

function chooseHead(layer: number, head: number): void {
  for (const view of [grid, map]) {
    view.layer = layer;
    view.head = head;
  }
}

/** The time of the last change to the text, and the elements that still show an older text. */
let changedAt = 0;
const behind = new Set<AttentionMap>();

function showText(): void {
  changedAt = performance.now();
  for (const view of [grid, map]) {
    if (view.text !== text.value) behind.add(view);
    view.text = text.value;
  }
  if (text.value === "") behind.clear();
  if (behind.size > 0) return showState("drawing");
  if (text.value === "") showTokens([]);
  showState("drawn");
}

/** Shows the state of the page to the tests. */
function showState(state: "drawing" | "drawn" | "failed"): void {
  document.documentElement.dataset.state = state;
}

let tokens: readonly string[] = [];
/** The row of the open head under the pointer, and its colours. */
let query: { row: number | null; colors: Uint8ClampedArray | null } = { row: null, colors: null };

function showTokens(newTokens: readonly string[], total = newTokens.length): void {
  tokens = newTokens;
  const amount = total === 1 ? "1 token" : `${total} tokens`;
  count.textContent = total > tokens.length ? `${amount}, of which the model reads the first ${tokens.length}` : amount;
  drawTokens();
  requestAnimationFrame(makeReachable); // it needs the layout, which is made by then
}

/** Draws the tokens. While the pointer is on a row of the open head, each has the colour of its weight in that row. */
function drawTokens(): void {
  const { row, colors } = query;
  const token = (word: string, index: number): TemplateResult => {
    const color = colors?.length === tokens.length * 4 ? colors.subarray(index * 4, index * 4 + 4) : [];
    return html`<li class=${index === row ? "query" : ""} .style=${tintStyle(color)}>${tokenLabel(word)}</li>`;
  };
  render(tokens.map(token), tokenList);
}

/** Makes the tokens focusable when they scroll, since the keyboard must be able to scroll them. */
function makeReachable(): void {
  if (tokenList.scrollHeight > tokenList.clientHeight) tokenList.tabIndex = 0;
  else tokenList.removeAttribute("tabindex");
}

/** Measures the time from the last change to the frame that shows it. */
function measureRedraw(since: number, maps: number): void {
  requestAnimationFrame(() => {
    const { duration } = performance.measure("headlens:redraw", { start: since, end: performance.now() });
    document.documentElement.dataset.redrawMs = duration.toFixed(1);
    void showEngine(`${maps} maps in ${duration.toFixed(0)} ms`);
  });
}

async function showEngine(last: string): Promise<void> {
  const { version, simd, target, threads } = (await sharedEngine()).info;
  const build = simd === "relaxed" ? "relaxed SIMD" : "SIMD";
  engineLine.textContent = `headlens ${version} · ${build} build (${target}) · ${threads === 1 ? "one thread" : `${threads} threads`}, in a worker · ${last}`;
}

listen(grid, "attention-draw", ({ text: read, tokens: shown, tokenCount, layers, heads }) => {
  showTokens(shown, tokenCount);
  if (read === text.value && behind.has(grid)) measureRedraw(changedAt, layers * heads);
});

for (const view of [grid, map]) {
  listen(view, "attention-draw", ({ text: read }) => {
    if (read === text.value && behind.delete(view) && behind.size === 0) showState("drawn");
  });
  listen(view, "attention-error", () => showState("failed"));
}

listen(grid, "head-focus", ({ layer, head }) => {
  chooseHead(layer, head);
  writeHash();
});

listen(grid, "head-select", ({ layer, head }, event) => {
  event.preventDefault();
  chooseHead(layer, head);
  writeHash();
  if (isNarrow.matches) map.scrollIntoView();
});

listen(map, "head-focus", ({ layer, head }) => {
  chooseHead(layer, head);
  writeHash();
});

listen(map, "cell-change", ({ row, colors }) => {
  query = { row, colors };
  drawTokens();
});

listen(map, "head-close", (_, event) => {
  event.preventDefault();
  if (isNarrow.matches) grid.scrollIntoView();
  grid.focus();
});

scale.addEventListener("change", () => {
  showScale();
  writeHash();
});

text.addEventListener("input", () => {
  showText();
  writeHash();
});

byId("copy-link", HTMLButtonElement).addEventListener("click", () =>
  void copy(async () => new URL(`#${await address()}`, location.href).href));
byId("copy-frame", HTMLButtonElement).addEventListener("click", () => void copy(frameLines));

window.addEventListener("resize", makeReachable);
window.addEventListener("hashchange", readHash);
readHash();
