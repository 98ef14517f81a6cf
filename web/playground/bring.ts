// SPDX-License-Identifier: Apache-2.0
/** Opens what a reader chooses or brings: a model, a picture, maps or a text. It is loaded when something is brought. */
import { css, html, render } from "lit";
import { AttentionMap } from "../elements/index.js";
import { readMaps } from "../files/maps-file.js";
import { loadModel } from "../maps/model-runs.js";
import { givePicture } from "../maps/pictures.js";
import { kGiven } from "../state/given.js";
import type { State } from "../state/state.js";
import { adopt } from "./adopt.js";
import { byId } from "./by-id.js";
import { type Dropped, kPages, type Page } from "./models.js";
import { type Input, usualOf } from "./usual.js";

adopt(css`
  #loading:not([hidden]) {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 12px;
  }

  #loading-bar {
    width: 160px;
  }

  /* The button behind it stays where it is, so that it can be hit. */
  #loading-amount {
    min-width: 20ch;
    font-variant-numeric: tabular-nums;
  }

  #stop-loading {
    min-height: 36px;
    padding: 4px 8px;
    color: var(--accent);
  }
`);

render(html`
  <p id="loading" hidden>
    <span id="loading-what" role="status"></span>
    <progress id="loading-bar" aria-label="Loading"></progress>
    <span id="loading-amount"></span>
    <button id="stop-loading">Stop</button>
  </p>`, byId("notes", HTMLElement));

const loading = byId("loading", HTMLElement);
const [what, amount] = [byId("loading-what", HTMLElement), byId("loading-amount", HTMLElement)];
const bar = byId("loading-bar", HTMLProgressElement);

/** The changes that open a model that a reader brought: the text stays if it is one of the same kind. */
const brought = (model: string): Partial<State> => ({
  model, src: "", textPair: "", source: "", attention: "decoder", layer: 0, head: 0, query: "", key: "", heads: "", ablate: "",
  zeroToken: "",
});

/** Ends the loading under way. */
let abort = new AbortController();

/**
 * Loads a model that a reader brought, while the page stays on the one that it has, and shows it, with `input` where it
 * reads something else than the page has. Returns true for one that cannot be read, of which the page says why.
 */
export async function openModel(model: string, { open, say }: Page, input: Partial<Input> = {}): Promise<boolean> {
  stop();
  const { signal } = abort;
  const name = model.replace(kGiven, "").replace(kPages, "");
  say("");
  what.textContent = `Loading ${name} …`;
  [loading.hidden, bar.value, amount.textContent] = [false, 0, ""];
  try {
    await loadModel(model, signal, (loaded, total) => {
      if (total === 0 || signal.aborted) return;
      [bar.value, amount.textContent] = [loaded / total, `${inMegabytes(loaded)} of ${inMegabytes(total)} MB`];
    });
    if (!signal.aborted) open({ ...brought(model), ...input });
    return false;
  } catch (error) {
    if (signal.aborted) return false;
    const reason = error instanceof Error ? error.message : String(error);
    const isGuarded = /HTTP status 40[13]/.test(reason); // as for models that Hugging Face does not have
    say(`${name} cannot be read: ${isGuarded ? "there is no such model, or not everybody may read it." : reason}`);
    return true;
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

byId("stop-loading", HTMLButtonElement).addEventListener("click", stop);

/** Opens a model of the menu with its first example. */
export function openChosen(model: string, { open }: Page): void {
  stop();
  open(usualOf(model) ?? brought(model));
}

/** Folders of models are flat, so folders in folders are left out. */
const isOnTop = ({ webkitRelativePath }: File): boolean => webkitRelativePath.split("/").length <= 2;

/** Asks for a model from Hugging Face. */
export const askForPublished = async (page: Page): Promise<void> => (await import("./published.js")).offerPublished(page);

/** Finds out what files are, and opens them: a model, a picture, maps or a text. */
export function openFiles(all: readonly File[], folder: string | undefined, page: Page): void {
  const given = all.filter(isOnTop);
  const [first] = given;
  if (!first) return;
  const { open, say } = page;
  if (given.some(({ name }) => name === "config.json")) return void openModel(AttentionMap.giveModel(given, folder), page);
  if (first.type.startsWith("image/")) {
    givePicture(first).then((image) => open({ image, src: "" }), (error: unknown) => say((error as Error).message));
    return;
  }
  if (/\.txt$/i.test(first.name)) return void first.text().then((text) => open({ text, src: "", query: "", key: "" }));
  if (/\.(json|npy|npz|csv|safetensors)$/i.test(first.name)) return void openMaps(first, page);
  const words = "is no model, picture, text or file of maps that this page knows.";
  say(`${first.name} ${words} A model is a folder with config.json and model.safetensors.`);
}

/** Opens a file of maps. One that cannot be read is refused, and the page stays as it is. */
async function openMaps(file: File, { open, say }: Page): Promise<void> {
  try {
    await readMaps(new Uint8Array(await file.arrayBuffer()), file.name);
    open({ src: URL.createObjectURL(file), layer: 0, head: 0, query: "", key: "" });
  } catch (error) {
    say((error as Error).message);
  }
}

/** Opens what was dropped: files, and the files of folders. */
export async function openDropped({ entries, plain }: Dropped, page: Page): Promise<void> {
  try {
    const found = entries.length > 0 ? (await Promise.all(entries.map(filesOf))).flat() : plain;
    openFiles(found, entries.find(isFolder)?.name, page);
  } catch (error) {
    page.say(String(error));
  }
}

// The classes of entries have other names in Chromium, so that entries are told apart by their flags.
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

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
