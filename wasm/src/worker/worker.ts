// SPDX-License-Identifier: Apache-2.0
/** This is the script of the web's workers: it hosts an engine, or helps one as a thread. Threads run the same script as their engine. */
import { webPlatformWith } from "../platform/web.js";
import { serve } from "../start/serve.js";
import { Host } from "./host.js";
import type { Message } from "./messages.js";

const platform = webPlatformWith(() => new URL(import.meta.url));
const host = new Host(platform, (reply, transfer) => postMessage(reply, { transfer }));
addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.kind === "thread") serve(data.task, () => postMessage("ready"));
  else host.receive(data);
});
