// SPDX-License-Identifier: Apache-2.0
/** The script of the web's worker. */
import { expose } from "comlink";
import { webPlatform } from "../platform/web.js";
import { Host } from "./host.js";

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

/** Under Trusted Types threads can be started only by who says what may be started: this package's own script. */
function allowThreads(): void {
  try {
    (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes?.createPolicy("default", {
      createScriptURL(url) {
        if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`${url} is not of this origin`);
        return url;
      },
    });
  } catch {
    // The page allows no such policy: the engine has one thread.
  }
}

allowThreads();
expose(new Host(webPlatform));
