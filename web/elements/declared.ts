// SPDX-License-Identifier: Apache-2.0
/** Maps that a page declares without a line of script: a file that `src` names, or JSON in a child of the element. */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { OnProgress } from "../files/fetched.js";
import type { Given } from "../files/given-maps.js";

type Host = ReactiveControllerHost & HTMLElement & { readonly src: string };

export class DeclaredMaps implements ReactiveController {
  #json = "";
  /** The maps that were read last, so that other tokens or another mask fetch nothing again. */
  #known: { readonly source: readonly string[]; readonly given: Given } | undefined;
  readonly #observer = new MutationObserver(() => this.#readChild());

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostConnected(): void {
    this.#observer.observe(this.host, { childList: true, characterData: true, subtree: true });
    this.#readChild();
    // Until the page is parsed, a child may have arrived in part.
    document.addEventListener("DOMContentLoaded", this.#readChild, { once: true });
  }

  hostDisconnected(): void {
    this.#known = undefined;
    this.#observer.disconnect();
    document.removeEventListener("DOMContentLoaded", this.#readChild);
  }

  readonly #readChild = (): void => {
    if (document.readyState === "loading") return;
    const child = this.host.querySelector(':scope > script[type="application/json"]');
    const json = child?.textContent.trim() ?? "";
    if (json === this.#json) return;
    this.#json = json;
    this.host.requestUpdate();
  };

  /** The source of the maps, to be compared; without elements when nothing is declared. */
  get source(): readonly string[] {
    if (this.host.src !== "") return ["src", this.host.src];
    return this.#json === "" ? [] : ["child", this.#json];
  }

  /** Reads what is declared. Only then are the readers of files loaded. */
  async read(signal: AbortSignal, onProgress: OnProgress): Promise<Given> {
    const { source } = this;
    const [kind = "", text = ""] = source;
    if (this.#known?.source.join() === source.join()) return this.#known.given;
    const child = { name: "the child script", bytes: new TextEncoder().encode(text) };
    const fetched = async (): Promise<typeof child> =>
      (await import("../files/fetched.js")).fetchFile(text, signal, onProgress);
    const file = kind === "src" ? fetched() : child;
    const [{ readMaps }, { name, bytes }] = await Promise.all([import("../files/maps-file.js"), file]);
    const given = await readMaps(bytes, name);
    if (this.host.isConnected) this.#known = { source, given };
    return given;
  }
}
