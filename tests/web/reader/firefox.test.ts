// SPDX-License-Identifier: Apache-2.0
/** The same reader in Firefox. */
import { readAll } from "./all.js";

readAll("Firefox");
