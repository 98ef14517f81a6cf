// SPDX-License-Identifier: Apache-2.0
/** The script of Node's worker. */
import { expose } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { parentPort } from "node:worker_threads";
import { nodePlatform } from "../platform/node.js";
import { Host } from "./host.js";

if (parentPort) expose(new Host(nodePlatform), nodeEndpoint(parentPort));
