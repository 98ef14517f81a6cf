// SPDX-License-Identifier: Apache-2.0
/** Browsers can keep the files of models, so that they come from another server only once. */

/** The name of what is kept, in the Cache Storage of the page's origin. It is told in the package's README. */
const kStore = "headlens-models";

/** Opens what is kept; undefined where nothing can be, as in Node, in pages without HTTPS, and where the browser refuses. */
export async function openKept(): Promise<Cache | undefined> {
  try {
    return await globalThis.caches?.open(kStore);
  } catch {
    return undefined;
  }
}
