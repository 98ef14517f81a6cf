// SPDX-License-Identifier: Apache-2.0
import type { Platform } from "./platform.js";
import { webPlatformWith } from "./web.js";

/** The platform of a page. Bundlers look for `new URL` with these very words, and copy the script as it is. */
export const pagePlatform: Platform = webPlatformWith(
  () => new URL("./worker.js", import.meta.url), () => import("../tokenizer/kinds.js"));
