// SPDX-License-Identifier: Apache-2.0
/** The open head on other inputs, where a reader sees how far its name holds. It is loaded once the page is drawn. */
import { css } from "lit";
import type { AttentionMap } from "../elements/index.js";
import { askedOf } from "../maps/asked.js";
import { sharedModel } from "../maps/engine.js";
import { modelMaps } from "../maps/model-runs.js";
import { isChanged } from "../maps/run.js";
import type { Lease, MapSource } from "../maps/source.js";
import { isSpecial } from "../maps/tokens.js";
import { kInitial, type State } from "../state/state.js";
import { adopt } from "./adopt.js";
import { byId } from "./by-id.js";
import { kExamples, kMore } from "./examples.js";
import { type Input, usualOf } from "./usual.js";

/** So many inputs are shown. */
const kMost = 3;
/** A smaller weight on another token says little about a head. */
const kLeast = 0.3;

const inputOf = ({ text = "", textPair = "", source = "", image = "" }: Partial<State>): Input => ({ text, textPair, source, image });

/** Returns the inputs that a model can read: none for one that a reader brought and that reads no plain text. */
async function inputsOf(model: string): Promise<readonly Input[]> {
  if (!usualOf(model)) {
    const { info } = await sharedModel(model);
    return info.encoder || info.image ? [] : inputsOf("tiny");
  }
  const own = kExamples.filter(({ state }) => state.model === model).map(({ state }) => state);
  return [...own, ...(kMore[model] ?? [])].map(inputOf);
}

const isSame = (a: Input, b: Input): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A row of a head on an input, and its largest weight on another token. */
interface Telling {
  readonly row: number;
  readonly value: number;
}

/** Returns the row that looks hardest at another token, or undefined where none does. Special tokens count on neither side. */
async function tellingRow(maps: MapSource, layer: number, head: number): Promise<Telling | undefined> {
  const { tokens, keyTokens, run } = maps;
  const [rows, cols] = [tokens.length, keyTokens.length];
  const { values } = await maps.part(layer, head, { rows: [0, rows], cols: [0, cols] }, [rows, cols]);
  const isSelf = run?.shown !== "cross";
  let best: Telling | undefined;
  values.forEach((value, index) => {
    const [row, col] = [Math.floor(index / cols), index % cols];
    if (!(value >= kLeast && value > (best?.value ?? 0)) || (isSelf && row === col)) return;
    if (!isSpecial(tokens[row] ?? "") && !isSpecial(keyTokens[col] ?? "")) best = { row, value };
  });
  return best;
}

/** The maps of all inputs of one model, which are kept for the next head. */
class Inputs {
  readonly #leases = new Map<string, Promise<Lease>>();
  readonly #abort = new AbortController();

  constructor(readonly model: string, readonly attention: string) {}

  /** The maps of an input. */
  async of(input: Input): Promise<MapSource> {
    const asked = askedOf({ ...kInitial, ...input, model: this.model, attention: this.attention });
    const key = JSON.stringify(input);
    const lease = this.#leases.get(key) ?? modelMaps(asked, this.#abort.signal, () => undefined);
    this.#leases.set(key, lease);
    lease.catch(() => this.#leases.delete(key));
    return (await lease).maps;
  }

  release(): void {
    this.#abort.abort();
    for (const lease of this.#leases.values()) lease.then(({ release }) => release(), () => undefined);
  }
}

const section = byId("elsewhere", HTMLElement);
const label = byId("elsewhere-label", HTMLElement);
const note = byId("elsewhere-note", HTMLElement);
const list = byId("elsewhere-list", HTMLElement);

interface Other {
  readonly input: Input;
  readonly telling: Telling | undefined;
}

type Open = (changes: Partial<State>) => void;

adopt(css`
  #elsewhere-list {
    margin: 8px 0 0;
    padding: 0;
    list-style: none;
  }

  #elsewhere-list li {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    align-items: end;
    gap: 8px;
    padding: 4px 0 8px;
    border-bottom: 1px solid var(--line);
  }

  #elsewhere-list attention-map {
    margin: 0;
    --attention-picture: 144px;
  }

  #elsewhere-list attention-map::part(export) {
    display: none;
  }

  #elsewhere-list li:not(.picture) attention-map::part(token) {
    font-size: 14px;
  }

  #elsewhere-list attention-map::part(finding) {
    min-height: 0;
    font-size: 14px;
    line-height: 20px;
  }

  #elsewhere-list button {
    min-height: 28px;
    padding: 0 8px;
    color: var(--accent);
    font-size: 14px;
  }

  @media (pointer: coarse) {
    #elsewhere-list button {
      min-height: 44px;
    }
  }
`);

let kept = new Inputs("", "");
let asked = 0;

/** Shows the open head on other inputs than that of `state`. `open` is called with the changes that lead to one of them. */
export async function showElsewhere(state: Readonly<State>, open: Open): Promise<void> {
  const mine = ++asked;
  const { model, attention, layer, head } = state;
  const inputs = state.src === "" ? await inputsOf(model) : [];
  if (mine !== asked) return;
  if (kept.model !== model || kept.attention !== attention) {
    kept.release();
    kept = new Inputs(model, attention);
  }
  const others: Other[] = [];
  for (const input of inputs.filter((one) => !isSame(one, inputOf(state)))) {
    // The token of the class tells what a picture shows.
    const telling = input.image === "" ? await tellingRow(await kept.of(input), layer, head) : { row: 0, value: 1 };
    if (mine !== asked) return;
    others.push({ input, telling });
  }
  others.sort((a, b) => (b.telling?.value ?? 0) - (a.telling?.value ?? 0));
  section.hidden = others.length === 0;
  const where = state.image === "" ? "texts" : "pictures";
  label.textContent = `Head ${layer}.${head} ${state.image === "" ? "in" : "on"} other ${where}`;
  const chosen = others.length > kMost ? `The ${kMost} of ${others.length} texts in which it looks hardest at another token.` : "";
  note.textContent = `${chosen} ${isChanged(askedOf(state).changes) ? "They show the model without your changes." : ""}`.trim();
  const shown = others.slice(0, kMost);
  while (list.children.length > shown.length) list.lastElementChild?.remove();
  shown.forEach((other, index) => showOne(other, index, state, open));
}

function showOne({ input, telling }: Other, index: number, state: Readonly<State>, open: Open): void {
  const item = list.children[index] ?? list.appendChild(newItem());
  item.classList.toggle("picture", input.image !== "");
  const { model, layer, head, attention, scale, range, theme } = state;
  const query = telling ? String(telling.row) : "";
  const element = item.querySelector("attention-map") as AttentionMap;
  Object.assign(element, { ...input, model, layer, head, attention, query, scale, range, theme });
  const button = item.querySelector("button") as HTMLButtonElement;
  button.ariaLabel = `Open ${input.image === "" ? `“${input.text}”` : `picture ${index + 1}`}`;
  button.onclick = (): void => open({ ...input, query, key: "" });
}

function newItem(): HTMLLIElement {
  const item = document.createElement("li");
  const element = Object.assign(document.createElement("attention-map"), { view: "sentence", controls: "none" });
  item.append(element, Object.assign(document.createElement("button"), { textContent: "open" }));
  return item;
}
