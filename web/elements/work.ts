// SPDX-License-Identifier: Apache-2.0
/**
 * The work of an element, from inputs to pictures: it starts when the element comes close to the visible part of the
 * page, runs once at a time and always with the newest inputs, and gives back what it held.
 */
import type { ReactiveController, ReactiveElement } from "lit";
import type { ShapedMaps } from "../maps/shaped.js";
import { isReleased, kNoPicture, type Lease, type MapSource } from "../maps/source.js";
import { isEqual } from "../state/lists.js";
import { kInitial, kShaping, type Shaping, type State } from "../state/state.js";
import type { Host, View, ViewKind } from "../views/view.js";
import type { LaterStyles } from "./later-styles.js";
import { dependencies, type Following, type Inputs as MapInputs, isGiven, isRead, openMaps } from "./opening.js";
import { takeTurn } from "./turns.js";
import { waiting } from "./waiting.js";

/** Everything that a picture depends on. Two inputs are compared field by field. */
interface Inputs {
  readonly maps: readonly unknown[];
  readonly picture: readonly unknown[];
}

/** An element, as far as its work is concerned. */
export interface Working {
  readonly element: ReactiveElement;
  /** The side of the element that its views see. */
  readonly host: Host;
  readonly styles: LaterStyles;
  readonly mapInputs: MapInputs;
  readonly state: Readonly<State>;
  /** The view that is asked for, if there is such a one. */
  readonly kind: ViewKind | undefined;
  /** Throws an Error that names the part of the state which is not known. */
  check(): void;
  /** Called when other maps are wanted than those of the run under way. */
  abandoned(): void;
  drew(maps: MapSource, text: string, milliseconds: number): void;
  failed(error: Error): void;
}

export class Work implements ReactiveController {
  /** The view that has something to draw. */
  drawn: View | undefined;
  error: Error | undefined;
  /** Loaded and total bytes of a model or a file that is on its way. */
  progress: { readonly loaded: number; readonly total: number } | undefined;
  /** The share of a run of the model that is done, once it has taken some time. */
  computed: number | undefined;
  /** A sentence that says how the declared maps that are about to be drawn were understood. */
  understood: string | undefined;
  /** True while a model that reads pictures has none. */
  lacksPicture = false;
  /** True while the next picture takes the focus. */
  movesFocus = false;
  /** The maps that are drawn: those of the lease, or shaped ones. */
  maps: MapSource | undefined;
  readonly #views = new Map<ViewKind, View>();
  #lease: { readonly inputs: readonly unknown[]; readonly lease: Lease } | undefined;
  #shapedMaps: { readonly of: MapSource; readonly key: string; readonly maps: ShapedMaps } | undefined;
  #tried: Inputs | undefined;
  /** Ends the run under way when its inputs are no longer wanted. */
  #abort = new AbortController();
  /** The view whose tab a reader came near last, settled when it is ready. */
  #prepared: { readonly kind: ViewKind; readonly done: Promise<unknown> } | undefined;
  #near = false;
  /** Settled when it is known that the element is near or not. */
  readonly #placed = waiting();
  #busy = false;
  /** Settled when the runs under way have ended. */
  #idle = waiting();

  /** Visible elements go first. */
  readonly #nearness = new IntersectionObserver(
    (entries) => {
      this.#near ||= entries.some((entry) => entry.isIntersecting);
      this.#placed.resolve();
      if (this.#near) this.of.element.requestUpdate();
    },
    { rootMargin: "50%" },
  );

  constructor(private readonly of: Working) {
    of.element.addController(this);
  }

  hostConnected(): void {
    this.#nearness.observe(this.of.element);
    this.of.element.requestUpdate();
  }

  hostDisconnected(): void {
    this.#nearness.disconnect();
    // An element that is only moved is connected again before this runs.
    setTimeout(() => this.of.element.isConnected || this.#release());
  }

  /** Ends the run under way where its inputs are others now, and starts the next one. */
  update(isChanged: boolean): void {
    // The same pictures may be asked for by a scroll, and only other inputs end a run.
    if (isChanged && this.#tried && !isSame(this.#inputs(), this.#tried)) {
      this.#abort.abort();
      if (!isEqual(this.#inputs().maps, this.#tried.maps)) this.of.abandoned();
    }
    if (this.#near) void this.#catchUp();
  }

  /** Resolves when what is asked for is drawn or cannot be drawn. An element that is far draws later, and is not waited for. */
  async ready(): Promise<void> {
    const { element } = this.of;
    await this.#placed.promise;
    await element.updateComplete;
    const isBehind = (): boolean => this.#busy || !isSame(this.#inputs(), this.#tried);
    while (element.isConnected && this.#near && isBehind()) await this.#idle.promise;
    await element.updateComplete;
  }

  retry(): void {
    this.#tried = undefined;
    this.error = undefined;
    this.of.element.requestUpdate();
  }

  show(view: View | undefined): void {
    this.drawn = view;
    this.lacksPicture = false;
    this.error = undefined;
    this.progress = undefined;
    this.of.element.requestUpdate();
  }

  fail(error: unknown): void {
    // Newer inputs end and release what was asked for before, which is nothing to report.
    if (!this.of.element.isConnected || isEnded(error)) return;
    this.error = error instanceof Error ? error : new Error(String(error));
    this.progress = undefined;
    // Numbers that are still on their way would be drawn after this error, as if nothing were wrong.
    this.drawn?.clear?.();
    this.movesFocus = false;
    this.of.element.requestUpdate();
    this.of.failed(this.error);
  }

  /** The maps as they are, whatever a view makes of them. */
  get lease(): Lease | undefined {
    return this.#lease?.lease;
  }

  /** The kind of the view that is drawn. */
  get drawnKind(): ViewKind | undefined {
    return [...this.#views].find(([, view]) => view === this.drawn)?.[0];
  }

  /** The settings that shape the maps of the view that is drawn, if any do. */
  get shaping(): Shaping | undefined {
    const kind = this.drawnKind;
    return kind && this.#shapingOf(kind);
  }

  get hasMaps(): boolean {
    return this.of.kind !== undefined && this.of.kind.needs !== "nothing";
  }

  get isEmpty(): boolean {
    const { kind, mapInputs, state } = this.of;
    return kind?.needs !== "nothing" && !isGiven(mapInputs) && !isRead(state);
  }

  #inputs(): Inputs {
    const { kind, state, host, mapInputs } = this.of;
    const maps = kind?.needs === "nothing" ? [] : dependencies(mapInputs);
    const shape = kind?.isShaped === true ? kShaping.map((name) => state[name]) : [];
    const watched = kind?.watches.map((name) => (name === "colors" || name === "example" ? host[name] : state[name]));
    // Another scale or theme fetches nothing again, but a word that is no such thing has to be named.
    const { scale, range, theme } = state;
    return { maps, picture: [state.view, this.#isKnown() ? "" : `${scale} ${range} ${theme}`, ...shape, ...(watched ?? [])] };
  }

  #isKnown(): boolean {
    try {
      this.of.check();
      return true;
    } catch {
      return false;
    }
  }

  /** All changes during a run lead to one more run, so the last input wins. */
  async #catchUp(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const { element } = this.of;
    try {
      for (let inputs = this.#inputs(); element.isConnected && !isSame(inputs, this.#tried); inputs = this.#inputs()) {
        this.#tried = inputs;
        this.#abort = new AbortController();
        const { signal } = this.#abort;
        await takeTurn(element, () => this.#run(inputs, signal));
      }
    } finally {
      this.#busy = false;
      this.#idle.resolve();
      this.#idle = waiting();
    }
  }

  async #run(inputs: Inputs, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const { element, state, mapInputs } = this.of;
    const text = isGiven(mapInputs) ? "" : state.text;
    this.progress = undefined;
    try {
      this.of.check();
      const kind = this.of.kind as ViewKind;
      if (this.isEmpty) return await this.#showEmpty(kind, signal);
      const opening = kind.needs === "nothing" ? undefined : this.#open(inputs, signal, kind);
      const shaping = this.#shapingOf(kind);
      const prepared = this.#prepared?.kind === kind ? this.#prepared.done : undefined;
      const [maps, view, code] = await Promise.all([
        opening, this.#viewOf(kind), shaping && import("../maps/shaped.js"), prepared,
      ]);
      this.computed = undefined;
      if (!element.isConnected || signal.aborted) return;
      checkFits(kind, maps);
      const shown = maps && shaping && code ? this.#shaped(maps, shaping, code) : maps;
      this.maps = shown;
      await view.load(shown, signal);
      if (!element.isConnected || signal.aborted) return;
      await element.updateComplete;
      if (this.movesFocus) element.focus();
      if (shown) this.of.drew(shown, text, performance.now() - started);
    } catch (error) {
      if (signal.aborted) return;
      if ((error as { code?: unknown }).code === kNoPicture) this.#askForPicture();
      else this.fail(error);
    } finally {
      this.computed = undefined;
    }
  }

  /** Shows that there is nothing to read yet, or where to write it. */
  async #showEmpty(kind: ViewKind, signal: AbortSignal): Promise<void> {
    const { host, mapInputs: { computing }, state: { model } } = this.of;
    if (kind.isEditor === true && host.controls === "full") return (await this.#viewOf(kind)).load(undefined, signal);
    this.show(undefined);
    if (!computing || model === kInitial.model) return;
    await computing.loadModel(model, signal, this.#following(signal).loading);
    if (await computing.readsPictures(model)) this.#askForPicture();
  }

  #askForPicture(): void {
    this.show(undefined);
    this.lacksPicture = true;
  }

  /** Makes a view ready that a reader is about to open: its code, its styles, and what it will draw of a light model. */
  readonly prepare = (kind: ViewKind): void => {
    const maps = this.#lease?.lease.maps;
    if (!maps || kind === this.drawnKind) return;
    const isAhead = isLight(maps) && !this.#shapingOf(kind);
    const prepared = this.#viewOf(kind).then((view) => (isAhead ? view.prepare?.(maps) : undefined));
    this.#prepared = { kind, done: prepared.catch(() => undefined) }; // opening it tries again and shows the error
  };

  /** The view of a kind, whose code is loaded when it is first wanted. */
  async #viewOf(kind: ViewKind): Promise<View> {
    const known = this.#views.get(kind);
    if (known) return known;
    const isLater = typeof kind.code === "function";
    const code = typeof kind.code === "function" ? await kind.code() : kind.code;
    if (isLater) this.of.styles.add(code.styles);
    const view = this.#views.get(kind) ?? code.create(this.of.host);
    this.#views.set(kind, view);
    return view;
  }

  /** Returns the maps of these inputs, which are opened once as long as the inputs stay the same. */
  async #open({ maps: inputs }: Inputs, signal: AbortSignal, kind: ViewKind): Promise<MapSource> {
    if (this.#lease && isEqual(this.#lease.inputs, inputs)) return this.#lease.lease.maps;
    const lease = await openMaps(this.of.mapInputs, signal, this.#following(signal));
    if (signal.aborted || !this.of.element.isConnected) {
      lease.release();
      signal.throwIfAborted();
    }
    const before = this.#lease;
    this.#lease = { inputs, lease };
    if (before) {
      // Views of the maps before would ask for more of them.
      for (const [of, view] of this.#views) if (of !== kind) view.clear?.();
      before.lease.release();
    }
    return lease.maps;
  }

  /** The parts of the state that shape the maps of a view; undefined where they are shown as they are. */
  #shapingOf({ isShaped, isOfHead, leavesOut }: ViewKind): Shaping | undefined {
    if (isShaped !== true) return undefined;
    const { combine, heads, threshold, topK, hide, merge, segments } = this.of.state;
    const shaping: Shaping = {
      // Only views of one head can show several in its place.
      ...(isOfHead ? { combine, heads } : { combine: kInitial.combine, heads: kInitial.heads }),
      ...(leavesOut ? { threshold: kInitial.threshold, topK: kInitial.topK } : { threshold, topK }),
      hide, merge, segments,
    };
    return kShaping.some((name) => shaping[name] !== kInitial[name]) ? shaping : undefined;
  }

  /** The maps as the state shapes them. They stay the same object as long as nothing about them changes. */
  #shaped(maps: MapSource, shaping: Shaping, code: typeof import("../maps/shaped.js")): MapSource {
    const shape = code.shapeOf(shaping);
    if (!shape) return maps;
    const key = JSON.stringify(shape);
    if (this.#shapedMaps?.of !== maps || this.#shapedMaps.key !== key)
      this.#shapedMaps = { of: maps, key, maps: new code.ShapedMaps(maps, shape) };
    return this.#shapedMaps.maps;
  }

  #following(signal: AbortSignal): Following {
    const { element } = this.of;
    return {
      loading: (loaded, total) => {
        this.progress = { loaded, total };
        element.requestUpdate();
      },
      running: (done) => {
        if (signal.aborted) return;
        this.computed = done;
        element.requestUpdate();
      },
      understood: (words) => {
        if (words === this.understood) return; // to render once more would keep the run waiting
        this.understood = words;
        if (words !== undefined) this.progress = undefined;
        element.requestUpdate();
      },
    };
  }

  #release(): void {
    this.#abort.abort();
    this.of.abandoned();
    for (const view of this.#views.values()) view.clear?.();
    this.#lease?.lease.release();
    this.#lease = undefined;
    this.drawn = undefined;
    this.#tried = undefined;
  }
}

/** True where a model reads the text in some 20 ms. What takes longer is computed once it is asked for. */
const isLight = ({ run, tokens }: MapSource): boolean =>
  !run || run.info.layers * run.info.embedDim ** 2 * tokens.length < 4e7;

export const isFitting = ({ needs, isFor }: ViewKind, maps: MapSource): boolean =>
  (needs === "maps" || maps.run !== undefined) && (isFor?.(maps) ?? true);

/** Views of a model's run cannot show given arrays. */
function checkFits({ name, needs }: ViewKind, maps: MapSource | undefined): void {
  if (needs === "run" && !maps?.run) throw new Error(`view: "${name}" needs a model that reads a text, and these are given maps`);
}

function isEnded(error: unknown): boolean {
  return isReleased(error) || (error instanceof DOMException && error.name === "AbortError");
}


const isSame = (a: Inputs, b: Inputs | undefined): boolean =>
  b !== undefined && isEqual(a.maps, b.maps) && isEqual(a.picture, b.picture);
