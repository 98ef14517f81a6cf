// SPDX-License-Identifier: Apache-2.0
/** This is the script of the web's threads. */
import type { ThreadTask } from "../platform/platform.js";
import { serve } from "./serve.js";

addEventListener("message", ({ data }: MessageEvent<ThreadTask>) => serve(data, () => postMessage("ready")), { once: true });
