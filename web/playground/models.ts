// SPDX-License-Identifier: Apache-2.0
/** The models that the page offers, and those that a reader brings: a folder, dropped files, or an address. */
import { AttentionMap } from "../elements/index.js";
import { givePicture } from "../maps/pictures.js";
import { kGiven } from "../state/address.js";
import type { State } from "../state/state.js";
import { byId } from "./by-id.js";
import { firstOf } from "./examples.js";

const kBuiltIn: readonly (readonly [name: string, words: string])[] = [
  ["tiny", "tiny: continues English"],
  ["tiny-bert", "tiny-bert: reads both ways"],
  ["tiny-translator", "tiny-translator: English to French"],
  ["tiny-vit", "tiny-vit: names shapes"],
];

const select = byId("model", HTMLSelectElement);
const files = byId("files", HTMLInputElement);
const form = byId("from-address", HTMLFormElement);

/** Shows which model is in use. */
export function showModel(model: string): void {
  const known = kBuiltIn.some(([name]) => name === model);
  const own = model.startsWith(kGiven) ? `${model.slice(kGiven.length)}: your files` : model;
  const more = known ? [] : [[model, own] as const];
  const options = [...kBuiltIn, ...more, ["files", "your files …"], ["address", "an address …"]] as const;
  const option = ([value, words]: (typeof options)[number]): HTMLOptionElement =>
    new Option(words, value, false, value === model);
  select.replaceChildren(...options.map(option));
}

/** The changes that open a model that a reader brought: the text stays if it is one of the same kind. */
const brought = (model: string): Partial<State> => ({
  model, textPair: "", source: "", attention: "decoder", layer: 0, head: 0, query: "", key: "", heads: "", ablate: "",
  zeroToken: "",
});

type Open = (changes: Partial<State>) => void;

/** Listens for models. `open` is called with the changes that show one. */
export function offerModels(open: Open, say: (words: string) => void): void {
  select.addEventListener("change", () => {
    const { value } = select;
    if (value === "files") files.click();
    else if (value === "address") {
      form.hidden = false;
      form.querySelector("input")?.focus();
    } else open(firstOf(value)?.state ?? brought(value));
  });
  files.addEventListener("change", () => openFiles([...(files.files ?? [])], open, say));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.hidden = true;
    open(brought(form.querySelector("input")?.value ?? ""));
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    void dropped(event.dataTransfer).then((given) => openFiles(given, open, say));
  });
}

/** Finds out what files are, and opens them: a model, a picture, maps or a text. */
function openFiles(given: readonly File[], open: Open, say: (words: string) => void): void {
  const [first] = given;
  if (!first) return;
  if (given.some(({ name }) => name === "config.json")) return open(brought(AttentionMap.giveModel(given)));
  if (first.type.startsWith("image/")) {
    givePicture(first).then((image) => open({ image }), (error: unknown) => say((error as Error).message));
    return;
  }
  if (/\.txt$/i.test(first.name)) return void first.text().then((text) => open({ text, query: "", key: "" }));
  if (/\.(json|npy|npz|csv|safetensors)$/i.test(first.name))
    return open({ src: URL.createObjectURL(first), query: "", key: "" });
  const words = "is no model, picture, text or file of maps that this page knows.";
  say(`${first.name} ${words} A model is a folder with config.json and model.safetensors.`);
}

/** The files that were dropped, with those of dropped folders. */
async function dropped(data: DataTransfer | null): Promise<File[]> {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...(data?.files ?? [])];
  const found = await Promise.all(entries.map(filesOf));
  return entries.length > 0 ? found.flat() : plain;
}

/** Folders of models are flat, so folders in folders are left out. */
async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (entry instanceof FileSystemFileEntry)
    return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))];
  if (!(entry instanceof FileSystemDirectoryEntry)) return [];
  const reader = entry.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    children.push(...some);
  }
  const inside = children.filter(({ isFile }) => isFile);
  return (await Promise.all(inside.map(filesOf))).flat();
}
