// SPDX-License-Identifier: Apache-2.0
import { WasmEngine } from "../engine/engine.js";
import type { Platform } from "../platform/platform.js";
import type { Engine } from "../types/index.js";
import type { Code } from "./code.js";
import { createEngine } from "./instantiate.js";

/** An engine in the caller's own thread. One in a worker is warmed up from the other side, which asks it for the same. */
class OwnEngine extends WasmEngine implements Engine {
  async warmUp(): Promise<void> {
    const { warmUp } = await import("../engine/warm-up.js");
    return warmUp(this);
  }
}

export const createOwnEngine = (code: Promise<Code>, platform: Platform, prefetch?: string | URL): Promise<Engine> =>
  createEngine(OwnEngine, code, platform, prefetch);
