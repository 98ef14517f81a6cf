// SPDX-License-Identifier: Apache-2.0
/** Code that a reader may want next is loaded once the first maps are drawn. If that fails, it is tried again when it is wanted. */
import "../maps/changes.js";
import "../maps/characters.js";
import { kViews } from "../views/computed.js";

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
