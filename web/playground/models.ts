// SPDX-License-Identifier: Apache-2.0
/** The menu of models, and the ways in which a reader brings another: a folder, dropped files, or one from Hugging Face. */
import { kGiven } from "../state/given.js";
import type { State } from "../state/state.js";
import { byId } from "./by-id.js";

/** The beginning of the addresses of models' pages, before their names. */
export const kPages = "https://huggingface.co/";

const select = byId("model", HTMLSelectElement);
const files = byId("files", HTMLInputElement);

/** The option of a model that the reader brought, or of maps without one. It stands after the page's own models. */
const brought = new Option();
const kPlaceOfBrought = 4;

let shown = "";

/** Shows which model is in use, or that none is. */
export function showModel(model: string): void {
  shown = model;
  brought.remove();
  select.value = model;
  if (select.selectedIndex >= 0) return;
  brought.value = model;
  brought.text = model.startsWith(kGiven) ? `${model.slice(kGiven.length)}: your files` : model.replace(kPages, "") || "given maps";
  select.add(brought, kPlaceOfBrought);
  brought.selected = true;
}

type Open = (changes: Partial<State>) => void;

/** The page takes a model, a picture or a text in these ways, and says something. */
export interface Page {
  /** Makes changes of what is shown. */
  readonly open: Open;
  readonly say: (words: string) => void;
}

/** The things that were dropped, of which a browser only tells while they are. */
export interface Dropped {
  readonly entries: readonly FileSystemEntry[];
  readonly plain: readonly File[];
}

type Bringing = typeof import("./bring.js");

/** Loads the code that opens something, and runs it. */
function bring(act: (code: Bringing) => unknown, { say }: Page): void {
  import("./bring.js").then(act).catch((error: unknown) => say(String(error)));
}

/** Listens for models. */
export function offerModels(page: Page): void {
  for (const near of ["pointerenter", "focus"]) select.addEventListener(near, () => bring(() => undefined, page), { once: true });
  select.addEventListener("change", () => {
    const { value } = select;
    showModel(shown); // until there is another
    if (value === "files") files.click();
    else if (value === "published") bring(({ askForPublished }) => askForPublished(page), page);
    else bring(({ openChosen }) => openChosen(value, page), page);
  });
  // The same folder may be chosen again once it has been mended.
  files.addEventListener("click", () => (files.value = ""));
  files.addEventListener("change", () => {
    const given = [...(files.files ?? [])]; // a copy, since the list is emptied when the reader chooses again
    bring(({ openFiles }) => openFiles(given, undefined, page), page);
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const { items = [], files: plain = [] } = event.dataTransfer ?? {};
    const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
    const dropped = { entries, plain: [...plain] };
    bring(({ openDropped }) => openDropped(dropped, page), page);
  });
}
