// SPDX-License-Identifier: Apache-2.0
/** This is the script of Node's workers: it hosts an engine, or helps one as a thread when it is given a task. */
import { parentPort, workerData } from "node:worker_threads";
import { nodePlatform } from "../platform/node.js";
import type { ThreadTask } from "../platform/platform.js";
import { serve } from "../start/serve.js";
import { Host } from "./host.js";
import type { Notice, Question } from "./messages.js";

if (parentPort) {
  const port = parentPort;
  if (workerData) {
    serve(workerData as ThreadTask, () => port.postMessage("ready"));
  } else {
    const host = new Host(nodePlatform, (reply, transfer) => port.postMessage(reply, transfer));
    port.on("message", (message: Question | Notice) => host.receive(message));
  }
}
