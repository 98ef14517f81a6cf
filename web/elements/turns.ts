// SPDX-License-Identifier: Apache-2.0
/** Elements that are seen draw first; those that are only near the seen part of the page wait for them, unless they come into sight. */

const seenAtWork = new Set<Promise<void>>();

function isSeen(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Runs `work`, which reports its failures itself, when it is the element's turn. */
export async function takeTurn(element: Element, work: () => Promise<void>): Promise<void> {
  if (!isSeen(element)) {
    await untilSeen(element);
    return work();
  }
  const running = work();
  seenAtWork.add(running);
  await running.finally(() => seenAtWork.delete(running));
}

/** Resolves when the element comes into sight, or nothing that is seen is at work. */
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
