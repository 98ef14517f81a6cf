// SPDX-License-Identifier: Apache-2.0
/** This is the script of Node's threads. */
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadTask } from "../platform/platform.js";
import { serve } from "./serve.js";

if (parentPort) serve(workerData as ThreadTask, () => parentPort?.postMessage("ready"));
