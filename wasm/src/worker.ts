// SPDX-License-Identifier: Apache-2.0
/** The script of the web's worker. */
import { expose } from "comlink";
import { Host } from "./host.js";
import { webPlatform } from "./platform.js";

expose(new Host(webPlatform));
