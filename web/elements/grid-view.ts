// SPDX-License-Identifier: Apache-2.0
/** All heads as small maps, each on its own canvas: a row for each layer and a column for each head. */
import { HeadlensError } from "headlens";
import type { Image } from "headlens";
import { html, nothing } from "lit";
import type { ReactiveControllerHost, TemplateResult } from "lit";
import { draw } from "./draw.js";
import type { Maps } from "./maps.js";
import { strongestLink } from "./maps.js";

export interface GridContent {
  readonly view: "grid";
  readonly maps: Maps;
  /** [layer][head] */
  readonly images: readonly (readonly Image[])[];
}

interface Host extends ReactiveControllerHost {
  readonly renderRoot: HTMLElement | DocumentFragment;
  readonly layer: number;
  readonly head: number;
  /** Called when a head was chosen. */
  openHead(layer: number, head: number): void;
  /** Called when the arrow keys moved to a head. */
  visitHead(layer: number, head: number): void;
}

/** Maps with more cells than this on a side are smoothed, since a small canvas would skip single cells. */
const kCrisp = 40;

/** The head closest to the given one among those that exist. */
function within({ layers, heads }: Maps, layer: number, head: number): readonly [layer: number, head: number] {
  const clamp = (index: number, count: number): number => Math.max(0, Math.min(Math.trunc(index) || 0, count - 1));
  return [clamp(layer, layers), clamp(head, heads)];
}

export class GridView {
  /** The only map that is a tab stop: the chosen head, until the arrow keys move to another. */
  #stop: readonly [layer: number, head: number] = [0, 0];
  #chosen: readonly [layer: number, head: number] = [0, 0];
  #content: GridContent | undefined;
  #links: string[][] = [];

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".thumb[tabindex='0']")?.focus();
  }

  render(content: GridContent): TemplateResult {
    const { layer, head } = this.host;
    const { layers, heads } = content.maps;
    if (content !== this.#content) this.#show(content);
    if (!Object.is(layer, this.#chosen[0]) || !Object.is(head, this.#chosen[1])) {
      this.#chosen = [layer, head];
      this.#stop = within(content.maps, layer, head);
    }
    const names = Array.from(
      { length: heads },
      (_, index) => html`<span role="columnheader" class="name">H${index}</span>`,
    );
    return html`
      <div class="heads" part="grid" role="grid" aria-label="Attention of every head" .style=${`--heads: ${heads}`} @keydown=${this.#onKey}>
        <div role="row" class="layer"><span role="columnheader" class="name"><span class="unseen">Layer</span></span>${names}</div>
        ${Array.from({ length: layers }, (_, index) => this.#row(content, index))}
      </div>
    `;
  }

  #row({ maps, images }: GridContent, layer: number): TemplateResult {
    const [stopLayer, stopHead] = this.#stop;
    const cell = (image: Image, head: number): TemplateResult => {
      const isChosen = layer === this.host.layer && head === this.host.head;
      const label = `Layer ${layer}, head ${head}: ${this.#links[layer]?.[head] ?? `${maps.tokens.length} by ${maps.keyTokens.length} weights`}`;
      return html`
        <div role="gridcell" aria-selected=${isChosen ? "true" : "false"}>
          <button
            class="thumb"
            aria-label=${label}
            tabindex=${layer === stopLayer && head === stopHead ? 0 : -1}
            data-layer=${layer}
            data-head=${head}
            @click=${(): void => this.host.openHead(layer, head)}
          >
            <canvas class=${image.width > kCrisp ? "fine" : nothing} ${draw(image)}></canvas>
          </button>
        </div>
      `;
    };
    return html`<div role="row" class="layer"><span role="rowheader" class="name">L${layer}</span>${(images[layer] ?? []).map(cell)}</div>`;
  }

  #show(content: GridContent): void {
    this.#content = content;
    this.#links = [];
    this.#stop = within(content.maps, ...this.#stop);
    setTimeout(() => void this.#describe(content), 150);
  }

  /**
   * Writes the text alternatives. They need every number, so they come after the pictures, one head at a time, and stop
   * when there are newer maps.
   */
  async #describe(content: GridContent): Promise<void> {
    const links: string[][] = [];
    try {
      for (const [layer, row] of content.images.entries()) {
        const words: string[] = [];
        links.push(words);
        for (const [head, image] of row.entries()) {
          // Lets the page work between two heads.
          await new Promise((next) => setTimeout(next));
          if (content !== this.#content) return;
          words.push(strongestLink(content.maps, await content.maps.map(layer, head), image));
        }
      }
    } catch (error) {
      // The maps were released because newer ones came, which get text alternatives of their own.
      if (error instanceof HeadlensError && error.code === "disposed") return;
      throw error;
    }
    this.#links = links;
    this.host.requestUpdate();
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (!this.#content || event.altKey || event.metaKey) return;
    const { layers, heads } = this.#content.maps;
    const [layer, head] = this.#stop;
    const to = ((): [number, number] | undefined => {
      switch (event.key) {
        case "ArrowUp":
          return [layer - 1, head];
        case "ArrowDown":
          return [layer + 1, head];
        case "ArrowLeft":
          return [layer, head - 1];
        case "ArrowRight":
          return [layer, head + 1];
        case "Home":
          return [event.ctrlKey ? 0 : layer, 0];
        case "End":
          return [event.ctrlKey ? layers - 1 : layer, heads - 1];
        default:
          return undefined;
      }
    })();
    if (!to) return;
    event.preventDefault();
    if (to[0] < 0 || to[0] >= layers || to[1] < 0 || to[1] >= heads) return;
    this.#stop = to;
    this.host.requestUpdate();
    void this.host.updateComplete.then(() => this.focus());
    this.host.visitHead(...to);
  };
}
