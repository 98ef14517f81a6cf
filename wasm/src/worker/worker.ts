// SPDX-License-Identifier: Apache-2.0
/** This is the script of the web's worker. */
import { webPlatform } from "../platform/web.js";
import { Host } from "./host.js";
import type { Notice, Question } from "./messages.js";

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

/** Under Trusted Types a worker can start threads only when it says which scripts may be started: here those of its own origin. */
function allowThreads(): void {
  try {
    (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes?.createPolicy("default", {
      createScriptURL(url) {
        if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`${url} is not of this origin`);
        return url;
      },
    });
  } catch {
    // The page allows no such policy, and the engine has one thread.
  }
}

allowThreads();
const host = new Host(webPlatform, (reply, transfer) => postMessage(reply, { transfer }));
addEventListener("message", ({ data }: MessageEvent<Question | Notice>) => host.receive(data));
