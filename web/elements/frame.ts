// SPDX-License-Identifier: Apache-2.0
/** All that stands around a view: the bar of the open head, the settings, the menu that exports, and words in its place. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { Naming } from "../heads/naming.js";
import type { MapSource } from "../maps/source.js";
import type { Host, View, ViewKind } from "../views/view.js";
import type { ExportMenu, Exporting } from "./export-menu.js";
import { headBar, onHeadKey, turn } from "./head-bar.js";
import type { LaterStyles } from "./later-styles.js";
import { hasArrays, type Inputs as MapInputs, isGiven } from "./opening.js";
import type { PicturePlace } from "./picture-place.js";
import { isFitting, type Work } from "./work.js";

/** An element, as far as its frame is concerned. */
export interface Framed {
  readonly host: Host;
  readonly work: Work;
  readonly styles: LaterStyles;
  readonly views: readonly ViewKind[];
  readonly mapInputs: MapInputs;
  readonly naming: Naming | undefined;
  /** Names the heads of given maps, which needs the engine; undefined where they have names, or come without being asked. */
  readonly nameHeads: (() => void) | undefined;
  readonly picturePlace: (() => Promise<typeof import("./picture-place.js")>) | undefined;
  readonly exporting: Exporting;
  readonly retry: () => void;
}

type Part = TemplateResult | typeof nothing;

export class Frame {
  /** Code that is loaded when it is first wanted: the settings, the menu that exports, and the place for a picture. */
  #settings: typeof import("./drawer.js") | undefined;
  #menu: ExportMenu | undefined;
  #place: PicturePlace | undefined;

  /** For the event touchstart. The page may scroll at once. */
  readonly #onTouch = {
    passive: true,
    handleEvent: (event: TouchEvent): void => {
      const [start, ...others] = event.touches;
      if (!start || others.length > 0) return;
      const path = event.composedPath();
      const within = path.slice(0, path.indexOf(event.currentTarget as EventTarget));
      const end = endOf(start); // which may come before the code
      void import("./swipes.js").then(({ followSwipe }) => followSwipe(start, end, within, (by) => this.#turn(by)));
    },
  };

  constructor(private readonly of: Framed) {}

  render(theme: string): TemplateResult {
    const { room: { height, isCompact } } = this.of.host;
    const { drawn, error } = this.of.work;
    const isLimited = height < Infinity;
    const menu = drawn && !error ? this.#exporting(isLimited || isCompact) : nothing;
    const classes = `root ${theme} ${isLimited ? "limited" : ""} ${isCompact ? "compact" : ""}`;
    return html`<div class="room"></div><figure class=${classes} part="figure">${this.#content()} ${menu}
      <figcaption class="caption" part="caption"><slot name="caption"></slot></figcaption></figure>`;
  }

  #content(): TemplateResult {
    const { drawn, error, lacksPicture, progress } = this.of.work;
    const alert = error && html`<div class="message" part="error" role="alert"><slot name="error"><p>${error.message}</p><button @click=${this.of.retry}>Try again</button></slot></div>`;
    // A reader who writes goes on below an error, which the next letter may put right.
    const isWritten = drawn && this.of.work.drawnKind?.isEditor === true && this.of.host.controls === "full";
    if (alert && !isWritten) return html`${alert} <slot name="fallback"></slot>`;
    if (lacksPicture) return this.#picturePlace();
    return drawn
      ? html`${alert} ${this.#running(progress)} ${this.#shortened()} ${this.#view(drawn)} ${this.#declaration()}`
      : html`${this.#running()} <slot name="fallback">${this.#waiting()}</slot>`;
  }

  /** The share of a run that is done, or the model that is loading while the maps before it are shown. */
  #running({ loaded, total } = { loaded: 0, total: 0 }): Part {
    const { computed } = this.of.work;
    const [what, share] = computed === undefined ? ["Loading", loaded / total] : ["Computing", computed];
    if (!Number.isFinite(share)) return nothing;
    return html`<progress class="running" part="progress" aria-label=${what} .value=${share}></progress>`;
  }

  /** The view, below the bar of the open head if it is one of a head. */
  #view(drawn: View): TemplateResult {
    const { host, work } = this.of;
    const view = drawn.render();
    const maps = work.lease?.maps;
    const kind = work.drawnKind;
    if (!maps || host.controls === "none") return view;
    const isFull = host.controls === "full";
    const changes = isFull && kind?.isEditor !== true ? this.#changes(maps) : nothing;
    if (kind?.isOfHead !== true) return html`${changes} ${view} ${kind?.name === "grid" ? this.#asking() : nothing}`;
    const views = isFull ? this.of.views.filter((one) => one.isOfHead && isFitting(one, maps)) : [];
    const onKey = (event: KeyboardEvent): unknown => onHeadKey(event, host, maps);
    const bar = headBar(host, maps, this.#name(), views, drawn.tools?.() ?? nothing, work.prepare);
    return html`
      <div @keydown=${onKey} @touchstart=${this.#onTouch}>
        ${bar} ${changes} ${view} ${isFull ? this.#drawer(maps, kind.isShaped === true) : nothing}
      </div>
    `;
  }

  #turn(by: 1 | -1): void {
    const { host, work } = this.of;
    if (work.lease) turn(host, work.lease.maps, by);
  }

  /** The settings. Until they are opened first, they are only their name. */
  #drawer(maps: MapSource, isShaped: boolean): TemplateResult {
    return html`
      <details class="drawer" part="settings" @toggle=${this.#loadSettings}>
        <summary>Settings</summary>
        ${this.#settings?.settings(this.of.host, maps, isShaped) ?? nothing}
      </details>
    `;
  }

  /** The changes of the model, once there are any. */
  #changes(maps: MapSource): Part {
    const { run } = maps;
    const { shaping } = this.of.work;
    if (run?.attention === run?.unchanged && !shaping) return nothing;
    if (!this.#settings) void this.#loadSettings();
    return this.#settings?.changesInForce(this.of.host, maps, shaping) ?? nothing;
  }

  /** The name of the open head, or the button that asks for it. */
  #name(): Part {
    const { naming, host: { state: { layer, head } } } = this.of;
    return naming?.button(layer, head) ?? this.#asking();
  }

  #asking(): Part {
    const { nameHeads } = this.of;
    if (!nameHeads) return nothing;
    return html`<button class="ask" part="ask" title="Loads the engine, and measures each head" @click=${nameHeads}>name the heads</button>`;
  }

  readonly #loadSettings = async (): Promise<void> => {
    if (this.#settings) return;
    // Most settings of the picture shape maps, and a reader who changes them does not wait for that code, too.
    const [settings] = await Promise.all([import("./drawer.js"), import("../maps/shaped.js")]);
    this.of.styles.add(settings.kDrawerStyles);
    this.#settings = settings;
    this.of.host.requestUpdate();
  };

  /** The menu that exports. Until it is opened first, it is only its name. */
  #exporting(hidden: boolean): TemplateResult {
    return html`
      <details class="export" part="export" ?hidden=${hidden} @toggle=${this.#loadMenu}>
        <summary>Export</summary>
        ${this.#menu?.render() ?? nothing}
      </details>
    `;
  }

  readonly #loadMenu = async (): Promise<void> => {
    if (this.#menu) return;
    const { ExportMenu, kMenuStyles } = await import("./export-menu.js");
    this.of.styles.add(kMenuStyles);
    this.#menu ??= new ExportMenu(this.of.exporting);
    this.of.host.requestUpdate();
  };

  /** The place where a model that reads pictures is given one. */
  #picturePlace(): TemplateResult {
    if (!this.#place) void this.#loadPlace();
    return this.#place?.render() ?? html``;
  }

  async #loadPlace(): Promise<void> {
    if (!this.of.picturePlace) return;
    const { PicturePlace, kPlaceStyles } = await this.of.picturePlace();
    this.of.styles.add(kPlaceStyles);
    this.#place ??= new PicturePlace(this.of.host);
    this.of.host.requestUpdate();
  }

  /** Says how declared maps were understood, which could not be seen otherwise. */
  #declaration(): Part {
    const { work } = this.of;
    const understood = work.lease?.understood;
    return understood && work.hasMaps ? html`<p class="shortened" part="understood">${understood}</p>` : nothing;
  }

  /** Says that only the beginning of the text is shown, since the pictures look complete. */
  #shortened(): Part {
    const { work } = this.of;
    const maps: MapSource | undefined = work.lease?.maps;
    if (!maps || maps.tokenCount <= maps.tokens.length || !work.hasMaps) return nothing;
    return html`<p class="shortened" part="shortened">Only the first ${maps.tokens.length} of ${maps.tokenCount} tokens: the model has no positions for more.</p>`;
  }

  #waiting(): TemplateResult {
    const { host, work, mapInputs, views } = this.of;
    if (work.isEmpty) return html`<div class="message" part="message"><p>No ${mapInputs.computing ? "text" : "maps"} yet.</p></div>`;
    const { loaded, total } = work.progress ?? { loaded: 0, total: 0 };
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
    const amount = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    const isEngine = hasArrays(mapInputs.arrays) || !work.hasMaps;
    const what = work.lease ? "Computing" : `Loading the ${isEngine ? "engine" : isGiven(mapInputs) ? "file" : "model"}`;
    return html`<div class="message" part="message" role="status">
      <p>${work.understood ?? `${what} … ${amount}`}</p>
      ${total > 0 ? html`<progress part="progress" aria-label="Loading" max=${total} .value=${loaded}></progress>` : nothing}
    </div>
    ${views.find(({ name }) => name === host.state.view)?.isEditor ? html`<p class="awaited">${host.state.text}</p>` : nothing}`;
  }
}

/** The event that ends a touch, or takes it from the page. */
function endOf({ target }: Touch): Promise<TouchEvent> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const onOver = (event: Event): void => {
      over.abort();
      resolve(event as TouchEvent);
    };
    for (const type of ["touchend", "touchcancel"]) target.addEventListener(type, onOver, { signal: over.signal });
  });
}

export const kFrameStyles = css`
  .message {
    display: grid;
    justify-items: start;
    gap: 8px;
    padding: 16px 0;
    color: var(--faint);
    overflow-wrap: anywhere;
  }
  .message p {
    margin: 0;
  }
  /* The text as it is, about where its tokens will be. */
  .awaited {
    margin: 8px 0;
    font-size: 20px;
    line-height: 40px;
  }
  .message[role="alert"] {
    padding: 16px;
    border-inline-start: 2px solid var(--accent);
    color: var(--ink);
  }
  .message button,
  .ask {
    color: var(--accent);
    text-decoration: underline;
    text-underline-offset: 2px;
  }
  .ask {
    min-height: 24px;
  }
  .shortened {
    margin: 0 0 8px;
    color: var(--faint);
  }
  ::slotted([slot="caption"]) {
    display: block;
    margin-top: 8px;
  }
  .export {
    margin-top: 8px;
    color: var(--faint);
    font-size: 12px;
    line-height: 24px;
  }
  .export summary {
    width: max-content;
    cursor: pointer;
  }
  .drawer {
    margin-top: 16px;
    color: var(--faint);
    font-size: 14px;
  }
  .drawer summary {
    width: max-content;
    min-height: 24px;
    cursor: pointer;
  }
  progress {
    width: min(240px, 100%);
    height: 4px;
    border: 0;
    background: var(--line);
  }
  .running {
    position: absolute;
    z-index: 1;
    width: 100%;
    height: 2px;
  }
  @media (pointer: coarse) {
    .message button,
    .drawer summary,
    .ask {
      min-height: 44px;
    }
  }
`;
