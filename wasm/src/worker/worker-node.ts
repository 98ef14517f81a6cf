// SPDX-License-Identifier: Apache-2.0
/** This is the script of Node's worker. */
import { parentPort } from "node:worker_threads";
import { nodePlatform } from "../platform/node.js";
import { Host } from "./host.js";
import type { Notice, Question } from "./messages.js";

if (parentPort) {
  const port = parentPort;
  const host = new Host(nodePlatform, (reply, transfer) => port.postMessage(reply, transfer));
  port.on("message", (message: Question | Notice) => host.receive(message));
}
