// SPDX-License-Identifier: Apache-2.0
/** Long work that does not hold the thread: after some milliseconds others have their turn. */
import type { Caller } from "../arguments/names.js";
import { checkAborted, type Following } from "../arguments/options.js";

const kTurnMs = 30;

/**
 * Calls `next`, which does a piece of the work and returns the share that is done, until it returns 1. Tells `onProgress` the share, and
 * throws when the signal says so or `onProgress` throws. Messages call the work by its caller.
 */
export async function inTurns(caller: Caller, options: Following, next: () => number): Promise<void> {
  let turn = performance.now();
  for (let done = 0; done < 1;) {
    checkAborted(caller, options);
    done = next();
    options.onProgress?.(done);
    if (performance.now() - turn > kTurnMs) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      turn = performance.now();
    }
  }
  checkAborted(caller, options);
}
