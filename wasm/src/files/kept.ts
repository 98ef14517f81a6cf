// SPDX-License-Identifier: Apache-2.0
/** Browsers can keep the files of models, so that they come from another server only once. */
import type { Platform } from "../platform/platform.js";

/** The name of what is kept, in the Cache Storage of the page's origin. It is told in the package's README. */
const kStore = "headlens-models";

/** A file is the same for all that ask for it. */
const kAny = { ignoreVary: true };

/** This changes with a file. Some servers tell pages of others only the length. */
const versionOf = ({ headers }: Response): string => `${headers.get("etag")} ${headers.get("content-length")}`;

/** Opens what is kept; undefined where nothing can be, as in Node, in pages without HTTPS, and where the browser refuses. */
async function openKept(): Promise<Cache | undefined> {
  try {
    return await globalThis.caches?.open(kStore);
  } catch {
    return undefined;
  }
}

/** Keeps a file while it is read, where there is room for it. A file that is not read to its end is not kept. */
async function keep(kept: Cache, url: URL, copy: Response): Promise<void> {
  const { quota = 0, usage = 0 } = await navigator.storage.estimate();
  if (Number(copy.headers.get("content-length")) > quota - usage) throw new RangeError();
  await kept.put(url, copy);
}

/** Returns a platform that keeps the files of other servers, and gives what is kept while its server has the same or does not answer. */
export function keeping(platform: Platform): Platform {
  const opened = openKept();
  const fetch: Platform["fetch"] = async (url, signal) => {
    const kept = url.origin === globalThis.location?.origin ? undefined : await opened;
    const old = await kept?.match(url, kAny);
    const response = await platform.fetch(url, signal).catch((error: unknown) => {
      if (old) return old;
      throw error;
    });
    if (!kept || response === old) return response;
    // From 429 on, a server has too much to do, or fails.
    if (old && (response.status > 428 || (response.ok && versionOf(old) === versionOf(response)))) {
      void response.body?.cancel();
      return old;
    }
    await kept.delete(url, kAny);
    if (response.ok) {
      const copy = response.clone();
      // It is read all the same, and a copy that nobody takes would gather in memory.
      keep(kept, url, copy).catch(() => copy.body?.cancel()).catch(() => undefined);
    }
    return response;
  };
  return { ...platform, fetch };
}
