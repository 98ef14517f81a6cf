// SPDX-License-Identifier: Apache-2.0
/** On a phone a reader goes from head to head by swiping. */

/** A swipe is longer than this, in pixels, and at least twice as far across as down. */
const kLength = 64;

/** True where a finger moves something else across: a zoomed map, a slider, or what is wider than its place. */
const isTaken = (target: EventTarget): boolean => {
  if (!(target instanceof HTMLElement)) return false;
  const { overflowX, touchAction } = getComputedStyle(target);
  const isWide = target.scrollWidth > target.clientWidth && (overflowX === "auto" || overflowX === "scroll");
  return isWide || touchAction === "none" || target.matches("input, select, textarea, [contenteditable]");
};

/**
 * Follows a touch that began at the first of `path` until its end: calls `turn` with 1 for a swipe to the left, and with
 * -1 for one to the right.
 */
export async function followSwipe(
  start: Touch, ended: Promise<TouchEvent>, path: readonly EventTarget[], turn: (by: 1 | -1) => void,
): Promise<void> {
  if (path.some(isTaken)) return;
  const { type, changedTouches: [end] } = await ended;
  if (type !== "touchend" || !end) return;
  const [x, y] = [end.clientX - start.clientX, end.clientY - start.clientY];
  if (Math.abs(x) > kLength && Math.abs(x) > 2 * Math.abs(y)) turn(x < 0 ? 1 : -1);
}
