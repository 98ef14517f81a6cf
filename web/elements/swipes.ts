// SPDX-License-Identifier: Apache-2.0
/** On a phone a reader goes from head to head by swiping. */

/** A swipe is longer than this, in pixels, and at least twice as far across as down. */
const kLength = 64;

/** True where a finger moves something else across: a zoomed map, a slider, or what is wider than its place. */
function isTaken(event: TouchEvent): boolean {
  const path = event.composedPath();
  return path.slice(0, path.indexOf(event.currentTarget as EventTarget)).some((target) => {
    if (!(target instanceof HTMLElement)) return false;
    const { overflowX, touchAction } = getComputedStyle(target);
    const isWide = target.scrollWidth > target.clientWidth && (overflowX === "auto" || overflowX === "scroll");
    return isWide || touchAction === "none" || target.matches("input, select, textarea, [contenteditable]");
  });
}

/** Calls `turn` with 1 for a swipe to the left, and with -1 for one to the right. */
export class Swipes {
  #start: Touch | undefined;

  constructor(private readonly turn: (by: 1 | -1) => void) {}

  /** For the event touchstart. The page may scroll at once. */
  readonly onStart = {
    passive: true,
    handleEvent: (event: TouchEvent): void => {
      const [touch] = event.touches;
      this.#start = event.touches.length === 1 && !isTaken(event) ? touch : undefined;
    },
  };

  /** For the event touchend. */
  readonly onEnd = ({ changedTouches: [end] }: TouchEvent): void => {
    const start = this.#start;
    this.#start = undefined;
    if (!start || !end) return;
    const [x, y] = [end.clientX - start.clientX, end.clientY - start.clientY];
    if (Math.abs(x) > kLength && Math.abs(x) > 2 * Math.abs(y)) this.turn(x < 0 ? 1 : -1);
  };
}
