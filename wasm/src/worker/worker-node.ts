// SPDX-License-Identifier: Apache-2.0
/** This is the script of Node's workers: it hosts an engine, or helps one as a thread. */
import { parentPort } from "node:worker_threads";
import { nodePlatform } from "../platform/node.js";
import { serve } from "../start/serve.js";
import { Host } from "./host.js";
import type { Message } from "./messages.js";

if (parentPort) {
  const port = parentPort;
  const host = new Host(nodePlatform, (reply, transfer) => port.postMessage(reply, transfer));
  port.on("message", (message: Message) => {
    if (message.kind === "thread") serve(message.task, () => port.postMessage("ready"));
    else host.receive(message);
  });
}
