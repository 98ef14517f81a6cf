// SPDX-License-Identifier: Apache-2.0
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Room } from "../views/view.js";

/** Rooms that are narrower or lower, in pixels, have no place for names and words. */
const kCompact = { width: 320, height: 240 };

/** Outlines need some space in a box that scrolls, in pixels: the padding of `.root.limited`. */
const kMargin = 4;

/** Watches the room that the page gives the element. */
export class RoomController implements ReactiveController {
  #room: Room = { width: 0, height: Infinity, isCompact: false };
  readonly #resize = new ResizeObserver(() => {
    const { width, height } = this.#room;
    this.#measure();
    if (width !== this.#room.width || height !== this.#room.height) this.host.requestUpdate();
  });

  constructor(private readonly host: ReactiveControllerHost & HTMLElement) {
    host.addController(this);
  }

  get room(): Room {
    if (this.#room.width === 0) this.#measure();
    return this.#room;
  }

  /** Its height is limited when an empty box of 100 % has one. */
  #measure(): void {
    const { paddingLeft, paddingRight } = getComputedStyle(this.host);
    const given = this.host.shadowRoot?.querySelector(".room")?.clientHeight ?? 0;
    const isLimited = given > 0;
    const inside = isLimited ? 2 * kMargin : 0;
    const width = Math.floor(this.host.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - inside);
    const height = isLimited ? given - inside : Infinity;
    this.#room = { width, height, isCompact: width < kCompact.width || height < kCompact.height };
  }

  hostConnected(): void {
    this.#resize.observe(this.host);
  }

  hostUpdated(): void {
    const box = this.host.shadowRoot?.querySelector(".room");
    if (box) this.#resize.observe(box);
  }

  hostDisconnected(): void {
    this.#resize.disconnect();
  }
}
