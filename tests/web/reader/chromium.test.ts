// SPDX-License-Identifier: Apache-2.0
/** A reader in Chromium. */
import { readAll } from "./all.js";

readAll("Chromium");
