// SPDX-License-Identifier: Apache-2.0
import "./start.js";
import { AttentionMap, type AttentionMapEvents } from "../elements/index.js";
import { fetchText } from "../elements/script.js";
import { kInitial, type State } from "../state/state.js";
import { byId } from "./by-id.js";
import { offerModels, showModel } from "./models.js";
import { Shared } from "./share.js";
import { kUsual } from "./usual.js";

// Exports from this page take the scripts of the package, which are copied beside it.
AttentionMap.script = {
  url: new URL("../../dist/headlens.standalone.js", import.meta.url).href,
  text: () => fetchText(new URL("../../dist/headlens.arrays.js", import.meta.url)),
};

/** The elements of the page, which are one group. What changes in one of them changes in all. */
const [sentence, next, grid, map] = (["sentence", "next", "grid", "map"] as const).map(
  (id) => byId(id, HTMLElement) as AttentionMap,
) as [AttentionMap, AttentionMap, AttentionMap, AttentionMap];
const figures = [sentence, next, grid, map];
/** The worked example shares nothing with them. */
const steps = byId("steps", HTMLElement) as AttentionMap;
const wholeModel = byId("whole-model", HTMLElement);
const note = byId("note", HTMLElement);
/** True when the grid and the open head are below each other. */
const isNarrow = matchMedia("(max-width: 959px)");

function say(words: string): void {
  note.textContent = words;
}

// The state of the page is that of the open head's element.

const stateNow = (): State => map.state;
const shared = new Shared(stateNow, say);

function show(state: Partial<State>): void {
  Object.assign(map, state);
  shown();
}

/** Makes changes that the reader asked for outside of the elements. */
function change(changes: Partial<State>): void {
  show(changes);
  shared.write(Object.keys(changes));
}

function readAddress(): void {
  show(shared.read((text) => show({ text })));
}

let asked = 0;

/** Follows the page from a change until its figures have drawn it, for readers in the footer and for tests. */
function shown(): void {
  const [mine, since] = [++asked, performance.now()];
  showState("drawing");
  const isOfModel = map.src === "";
  showModel(isOfModel ? map.model : "");
  for (const part of [next, wholeModel]) part.hidden = !isOfModel;
  void Promise.all(figures.map((figure) => figure.ready())).then(() => {
    if (mine !== asked) return;
    showState("drawn");
    measureRedraw(since);
  });
}

function showState(state: "drawing" | "drawn"): void {
  document.documentElement.dataset.state = state;
}

/** Measures the time from the last change to the frame that shows it. */
function measureRedraw(since: number): void {
  requestAnimationFrame(() => {
    const { duration } = performance.measure("headlens:redraw", { start: since, end: performance.now() });
    document.documentElement.dataset.redrawMs = duration.toFixed(1);
    import("./later.js").then(({ prepare, showEngine, showMore }) => {
      showEngine(duration);
      showMore(steps, stateNow(), change);
      return prepare();
    }).catch(() => undefined);
  });
}

document.addEventListener("state-change", (event) => {
  const { changes } = (event as CustomEvent<AttentionMapEvents["state-change"]>).detail;
  if (event.target === steps) return;
  say(""); // it was about what is left now
  shown();
  void map.updateComplete.then(() => shared.write(Object.keys(changes)));
});

grid.addEventListener("head-focus", ({ detail: { layer, head } }) => change({ layer, head }));

grid.addEventListener("head-select", (event) => {
  event.preventDefault();
  if (isNarrow.matches) map.scrollIntoView();
});

map.addEventListener("head-close", (event) => {
  event.preventDefault();
  if (isNarrow.matches) grid.scrollIntoView();
  grid.focus();
});

offerModels({ open: change, say });

const examples = byId("examples", HTMLElement);
const openExample = (state: Partial<State>): void => change({ ...state, view: map.view });
/** The examples are loaded when a reader comes near their menu. */
let listed: Promise<void> | undefined;
for (const near of ["pointerenter", "focusin", "toggle"])
  examples.parentElement?.addEventListener(near, () => {
    listed ??= import("./examples.js").then((code) => code.listExamples(examples, openExample))
      .catch(() => (listed = undefined)); // a reader who comes again tries again
  });

async function copy(isFrame: boolean): Promise<void> {
  const { copied, frameOf } = await import("./copies.js");
  say(await copied(await (isFrame ? frameOf(stateNow()) : shared.link())));
}

for (const id of ["copy-link", "copy-frame"]) {
  const onClick = (): void => void copy(id === "copy-frame").catch((error: unknown) => say(String(error)));
  byId(id, HTMLButtonElement).addEventListener("click", onClick);
}

byId("help", HTMLButtonElement).addEventListener("click", () => void import("./keys.js").then(({ showKeys }) => showKeys()));

addEventListener("popstate", readAddress);
addEventListener("hashchange", readAddress);
Object.assign(map, kInitial, kUsual);
readAddress();
