// SPDX-License-Identifier: Apache-2.0
/** Code that a reader may want next is loaded once the first maps are drawn. If that fails, it is tried again when it is wanted. */
import "../maps/changes.js";
import "../maps/characters.js";
import { sharedEngine } from "../maps/engine.js";
import { kViews } from "../views/computed.js";
import { byId } from "./by-id.js";

const idle = (): Promise<void> => new Promise((resolve) => {
  // Safari has no idle callbacks.
  if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve());
  else setTimeout(resolve, 200);
});

let hasPrepared = false;

/** Loads the code of the views that the tabs of the open head lead to, one by one while nothing else is to be done. */
export async function prepare(): Promise<void> {
  if (hasPrepared) return;
  hasPrepared = true;
  for (const { code, isOfHead, isFor } of kViews) {
    if (isOfHead !== true || isFor || typeof code !== "function") continue;
    await idle();
    await code().catch(() => undefined);
  }
}

/** Tells readers in the footer what computed the maps, and how long the last ones took (milliseconds). */
export function showEngine(duration: number): void {
  sharedEngine().then(({ info: { version, simd, target, threads } }) => {
    const build = simd === "relaxed" ? "relaxed SIMD" : "SIMD";
    byId("engine", HTMLElement).textContent = `headlens ${version} · ${build} build (${target}) · ${threads === 1 ? "one thread" : `${threads} threads`}, in a worker · drawn in ${duration.toFixed(0)} ms`;
  }, () => undefined); // the elements say what is wrong
}
