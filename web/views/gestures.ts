// SPDX-License-Identifier: Apache-2.0
/** Pointers and the wheel on a map: they point at a cell, drag, zoom and pinch. */
import { isWhole, panned, type Viewport, zoomed } from "../maps/viewport.js";

export interface Target {
  view(): Viewport | undefined;
  move(view: Viewport): void;
  /** Called with a point in the map's space, in pixels. */
  point(x: number, y: number): void;
  /** Called when a point was pressed and let go without a drag; `isMore` while Shift is held. */
  pin(x: number, y: number, isMore: boolean): void;
  /** Called when the mouse leaves the map. */
  leave(): void;
  /** While the map has the focus, the wheel zooms without a key. */
  hasFocus(): boolean;
}

/** A press that moves less than this, in pixels, is a click. */
const kSlack = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

export class Gestures {
  #element: HTMLElement | undefined;
  /** The pointers that are down. */
  readonly #down = new Map<number, Point>();
  #isDragging = false;
  /** The place of the only pointer that is down, until it moves away or another joins it. */
  #pressed: Point | undefined;

  constructor(private readonly target: Target) {}

  /** Follows the gestures on an element, of which it may be told again whenever that is drawn. */
  follow(element: HTMLElement): void {
    if (element === this.#element) return;
    this.#element = element;
    element.addEventListener("pointerdown", this.#onDown);
    element.addEventListener("pointermove", this.#onMove);
    for (const end of ["pointerup", "pointercancel"] as const) element.addEventListener(end, this.#onUp);
    element.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !this.#isDragging) this.target.leave();
    });
    element.addEventListener("wheel", this.#onWheel, { passive: false });
    // Two fingers pinch the map, and not the page. One finger scrolls the page where all of the map is seen.
    element.addEventListener("touchstart", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
  }

  #pointOf({ clientX, clientY }: MouseEvent): Point {
    const { left = 0, top = 0 } = this.#element?.getBoundingClientRect() ?? {};
    return { x: clientX - left, y: clientY - top };
  }

  readonly #onDown = (event: PointerEvent): void => {
    const point = this.#pointOf(event);
    this.#down.set(event.pointerId, point);
    this.#pressed = this.#down.size === 1 ? point : undefined;
    if (this.#pressed) this.target.point(point.x, point.y);
  };

  readonly #onMove = (event: PointerEvent): void => {
    const point = this.#pointOf(event);
    const before = this.#down.get(event.pointerId);
    const view = this.target.view();
    if (!before || !view) return this.target.point(point.x, point.y);
    if (this.#down.size === 2) return this.#pinch(event, point, view);
    if (isWhole(view)) return this.target.point(point.x, point.y);
    if (!this.#isDragging && Math.hypot(point.x - before.x, point.y - before.y) < kSlack) return;
    if (!this.#isDragging) this.#element?.setPointerCapture(event.pointerId);
    this.#isDragging = true;
    this.#down.set(event.pointerId, point);
    this.target.move(panned(view, point.x - before.x, point.y - before.y));
  };

  /** Zooms by how the distance of two fingers changes, around the point between them, and moves with that point. */
  #pinch(event: PointerEvent, point: Point, view: Viewport): void {
    const before = [...this.#down.values()];
    this.#down.set(event.pointerId, point);
    const after = [...this.#down.values()];
    const apart = ([a, b]: Point[]): number => (a && b ? Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1) : 1);
    const middle = ([a, b]: Point[]): Point => (a && b ? { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } : point);
    const [from, to] = [middle(before), middle(after)];
    this.#isDragging = true;
    this.target.move(panned(zoomed(view, apart(after) / apart(before), from.x, from.y), to.x - from.x, to.y - from.y));
  }

  readonly #onUp = (event: PointerEvent): void => {
    const { x, y } = this.#pointOf(event);
    const isClick = this.#pressed && !this.#isDragging && Math.hypot(x - this.#pressed.x, y - this.#pressed.y) < kSlack;
    this.#pressed = undefined;
    if (isClick && event.type === "pointerup" && event.button === 0) this.target.pin(x, y, event.shiftKey);
    this.#down.delete(event.pointerId);
    if (this.#down.size === 0) this.#isDragging = false;
  };

  /** The wheel scrolls the page, unless a key is held or the map has the focus. A touchpad's pinch comes with Ctrl. */
  readonly #onWheel = (event: WheelEvent): void => {
    const view = this.target.view();
    const isHeld = event.ctrlKey || event.metaKey;
    if (!view || !(isHeld || this.target.hasFocus())) return;
    const { x, y } = this.#pointOf(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const speed = event.ctrlKey && Math.abs(event.deltaY) < 40 ? 0.01 : 0.002;
    const to = zoomed(view, Math.exp(-event.deltaY * lines * speed), x, y);
    if (to.cell === view.cell && !isHeld) return; // nothing is left to zoom, and the page scrolls on
    event.preventDefault();
    this.target.move(to);
  };
}
