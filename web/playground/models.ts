// SPDX-License-Identifier: Apache-2.0
/** The models that the page offers, and those that a reader brings: a folder, dropped files, or an address. */
import { AttentionMap } from "../elements/index.js";
import { loadModel } from "../maps/model-runs.js";
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
const loading = byId("loading", HTMLElement);
const [what, amount] = [byId("loading-what", HTMLElement), byId("loading-amount", HTMLElement)];
const bar = byId("loading-bar", HTMLProgressElement);

let shown = "";

/** Shows which model is in use. */
export function showModel(model: string): void {
  shown = model;
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

/** What the page does with a model, with a picture or a text, and with what there is to say. */
interface Page {
  /** Makes changes of what is shown. */
  readonly open: Open;
  readonly say: (words: string) => void;
}

/** Ends the loading under way. */
let abort = new AbortController();

/** Loads a model that a reader brought, while the page stays on the one that it has, and shows it. One that cannot be read is refused. */
async function openModel(model: string, { open, say }: Page): Promise<void> {
  stop();
  const { signal } = abort;
  const name = model.replace(kGiven, "");
  say("");
  what.textContent = `Loading ${name} …`;
  [loading.hidden, bar.value, amount.textContent] = [false, 0, ""];
  try {
    await loadModel(model, signal, (loaded, total) => {
      if (total === 0 || signal.aborted) return;
      [bar.value, amount.textContent] = [loaded / total, `${inMegabytes(loaded)} of ${inMegabytes(total)} MB`];
    });
    if (!signal.aborted) open(brought(model));
  } catch (error) {
    if (!signal.aborted) say(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    if (!signal.aborted) loading.hidden = true;
  }
}

const inMegabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

/** Gives up the model that is loading, if there is one. */
function stop(): void {
  abort.abort();
  abort = new AbortController();
  loading.hidden = true;
}

/** Listens for models. */
export function offerModels(page: Page): void {
  select.addEventListener("change", () => {
    const { value } = select;
    showModel(shown); // until there is another
    if (value === "files") files.click();
    else if (value === "address") {
      form.hidden = false;
      form.querySelector("input")?.focus();
    } else {
      stop();
      page.open(firstOf(value)?.state ?? brought(value));
    }
  });
  // The same folder may be chosen again once it has been mended.
  files.addEventListener("click", () => (files.value = ""));
  files.addEventListener("change", () => openFiles([...(files.files ?? [])].filter(isOnTop), undefined, page));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.hidden = true;
    void openModel(form.querySelector("input")?.value ?? "", page);
  });
  byId("stop-loading", HTMLButtonElement).addEventListener("click", stop);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    dropped(event.dataTransfer).then(
      ({ folder, given }) => openFiles(given, folder, page),
      (error: unknown) => page.say(String(error)),
    );
  });
}

/** Finds out what files are, and opens them: a model, a picture, maps or a text. */
function openFiles(given: readonly File[], folder: string | undefined, page: Page): void {
  const [first] = given;
  if (!first) return;
  const { open, say } = page;
  if (given.some(({ name }) => name === "config.json")) return void openModel(AttentionMap.giveModel(given, folder), page);
  if (first.type.startsWith("image/")) {
    import("../maps/pictures.js").then(({ givePicture }) => givePicture(first))
      .then((image) => open({ image }), (error: unknown) => say((error as Error).message));
    return;
  }
  if (/\.txt$/i.test(first.name)) return void first.text().then((text) => open({ text, query: "", key: "" }));
  if (/\.(json|npy|npz|csv|safetensors)$/i.test(first.name))
    return open({ src: URL.createObjectURL(first), query: "", key: "" });
  const words = "is no model, picture, text or file of maps that this page knows.";
  say(`${first.name} ${words} A model is a folder with config.json and model.safetensors.`);
}

/** The files that were dropped, with those of dropped folders, and the name of the folder where there is one. */
async function dropped(data: DataTransfer | null): Promise<{ given: File[]; folder: string | undefined }> {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...(data?.files ?? [])];
  const found = await Promise.all(entries.map(filesOf));
  return { given: entries.length > 0 ? found.flat() : plain, folder: entries.find(isFolder)?.name };
}

// The classes of entries have other names in Chromium, so that entries are told apart by their flags.
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

/** Folders of models are flat, so folders in folders are left out. */
const isOnTop = ({ webkitRelativePath }: File): boolean => webkitRelativePath.split("/").length <= 2;

async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (isFile(entry)) return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))];
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    children.push(...some);
  }
  return (await Promise.all(children.filter(isFile).map(filesOf))).flat();
}
