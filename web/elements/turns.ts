// SPDX-License-Identifier: Apache-2.0
/**
 * Visible elements draw first. Those just outside of the visible part of the page wait for them, unless they become
 * visible. What is not drawn, such as names, waits for all.
 */

const seenAtWork = new Set<Promise<void>>();
const atWork = new Set<Promise<void>>();

/** Elements that have had a turn, and whether they were visible in the last frame. */
const seen = new WeakMap<Element, boolean>();
let watch: IntersectionObserver | undefined;

/** To ask for the place of an element lays out the page, so that only the first turn does. */
function isSeen(element: Element): boolean {
  const known = seen.get(element);
  if (known !== undefined) return known;
  watch ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen.set(target, isIntersecting);
  });
  watch.observe(element);
  const { top, bottom } = element.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Runs `work` when it is the element's turn. `work` reports its own failures. */
export async function takeTurn(element: Element, work: () => Promise<void>): Promise<void> {
  const isFirst = isSeen(element);
  const running = isFirst ? work() : untilSeen(element).then(work);
  const counted = isFirst ? [seenAtWork, atWork] : [atWork];
  for (const set of counted) set.add(running);
  await running.finally(() => counted.forEach((set) => set.delete(running)));
}

/** Resolves when no element is at work, and none waits for its turn. */
export async function allAtRest(): Promise<void> {
  while (atWork.size > 0) await Promise.all(atWork);
}

/** Resolves when the element becomes visible, or when no visible element is at work. */
async function untilSeen(element: Element): Promise<void> {
  let observer: IntersectionObserver | undefined;
  const sighted = new Promise<void>((resolve) => {
    observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && resolve());
    observer.observe(element);
  });
  const allDone = (async (): Promise<void> => {
    await new Promise(requestAnimationFrame); // in one frame elements are told of in any order
    while (seenAtWork.size > 0) await Promise.all(seenAtWork);
  })();
  await Promise.race([sighted, allDone]);
  observer?.disconnect();
}
