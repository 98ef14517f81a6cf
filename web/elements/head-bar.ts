// SPDX-License-Identifier: Apache-2.0
/** The line above the views of one head: which head it is, the heads before and after it, and the other views of it. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MapSource } from "../maps/source.js";
import type { Host, ViewKind } from "../views/view.js";

const headsOf = ({ heads }: MapSource): [layer: number, head: number][] =>
  heads.flatMap((count, layer) => Array.from({ length: count }, (_, head): [number, number] => [layer, head]));

/** The head that stands `by` places after the open one. */
function headAfter(maps: MapSource, { layer, head }: Host["state"], by: number): [layer: number, head: number] | undefined {
  const heads = headsOf(maps);
  return heads[heads.findIndex(([ofLayer, of]) => ofLayer === layer && of === head) + by];
}

/** Opens the head that stands `by` places after the open one, if there is one. */
export function turn(host: Host, maps: MapSource, by: number): void {
  const to = headAfter(maps, host.state, by);
  if (to) host.showHead(...to);
}

/**
 * `views` are the views of a head among which the reader may choose, and `tools` the buttons of the one that is shown.
 * `prepare` is called when a reader comes near the tab of a view.
 */
export function headBar(
  host: Host, maps: MapSource, name: TemplateResult | typeof nothing, views: readonly ViewKind[],
  tools: TemplateResult | typeof nothing, prepare: (kind: ViewKind) => void,
): TemplateResult {
  const { layer, head, view } = host.state;
  const step = (by: number, sign: string, words: string, key: string): TemplateResult =>
    html`<button class="turn" aria-label=${words} title=${`${words} ( ${key} )`} ?disabled=${!headAfter(maps, host.state, by)} @click=${(): void => turn(host, maps, by)}>${sign}</button>`;
  const tab = (kind: ViewKind): TemplateResult => {
    const isNear = (): void => prepare(kind);
    return html`<button part="tab" aria-pressed=${kind.name === view ? "true" : "false"} @pointerenter=${isNear} @focus=${isNear} @click=${(): void => host.change({ view: kind.name })}>${kind.title}</button>`;
  };
  return html`
    <div class="bar" part="bar">
      <button class="back" part="back" aria-label="All heads" @click=${(): void => host.closeHead()}><span aria-hidden="true">←</span> <span class="words">All heads</span></button>
      <span class="title" part="title">${layer}.${head}</span>${name}
      <span class="turns">${step(-1, "‹", "Previous head", "[")}${step(1, "›", "Next head", "]")}</span>
      <span class="tools">${tools}</span>
      ${views.length > 1 ? html`<span class="tabs" part="tabs" role="group" aria-label="View">${views.map(tab)}</span>` : nothing}
    </div>
  `;
}

/** Acts on the keys that all views of a head share. Returns false for other keys. */
export function onHeadKey(event: KeyboardEvent, host: Host, maps: MapSource): boolean {
  // Alt with an arrow belongs to the browser. On many keyboards AltGr types a bracket, which is allowed.
  if (event.defaultPrevented || event.metaKey || (event.altKey && event.key.length > 1)) return false;
  const actions: Readonly<Record<string, () => void>> = {
    PageUp: () => turn(host, maps, -1),
    PageDown: () => turn(host, maps, 1),
    "[": () => turn(host, maps, -1),
    "]": () => turn(host, maps, 1),
    Escape: () => host.closeHead(),
  };
  const action = actions[event.key];
  if (!action) return false;
  event.preventDefault();
  action();
  return true;
}

export const kBarStyles = css`
  .bar {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 8px;
    min-height: 32px;
    margin-bottom: 8px;
  }
  .compact .bar {
    min-height: 28px;
    margin-bottom: 4px;
    flex-wrap: nowrap;
  }
  .bar button {
    min-width: 32px;
    height: 32px;
    color: var(--faint);
  }
  .compact .bar button {
    min-width: 24px;
    height: 28px;
  }
  .compact .tools,
  .compact .tabs {
    display: none;
  }
  .bar button:not(:disabled):hover {
    color: var(--ink);
  }
  .back {
    padding-inline-end: 8px;
    white-space: nowrap;
  }
  @container (max-width: 400px) {
    .bar {
      gap: 0 4px;
    }
    .back .words {
      display: none;
    }
  }
  @media (pointer: coarse) {
    .bar button {
      min-width: 40px;
      height: 44px;
    }
  }
  .title {
    font: 600 16px/24px var(--mono);
    white-space: nowrap;
  }
  .turns {
    white-space: nowrap;
  }
  .turn {
    font-size: 24px;
    line-height: 24px;
  }
  .tools {
    display: flex;
    margin-inline-start: auto;
  }
  .tabs {
    display: flex;
    flex: 1 0 100%;
    flex-wrap: wrap;
  }
  .tabs button {
    padding: 0 12px;
  }
  .tabs button[aria-pressed="true"] {
    background: color-mix(in oklab, var(--ink) 8%, transparent);
    color: var(--ink);
    font-weight: 600;
  }
`;
