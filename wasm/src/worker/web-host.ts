// SPDX-License-Identifier: Apache-2.0
/** A worker of the web hosts an engine, or helps one as a thread. Threads run the same script as their engine. */
import type { Platform } from "../platform/platform.js";
import { webPlatformWith } from "../platform/web.js";
import { serve } from "../start/serve.js";
import { Host } from "./host.js";
import type { Message } from "./messages.js";

/** Answers all messages to this worker. `tokenizers` imports what the script has not. */
export function answerMessages(tokenizers: Platform["tokenizers"]): void {
  const platform = webPlatformWith(() => new URL(import.meta.url), tokenizers);
  const host = new Host(platform, (reply, transfer) => postMessage(reply, { transfer }));
  addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.kind === "thread") serve(data.task, () => postMessage("ready"));
    else host.receive(data);
  });
}
