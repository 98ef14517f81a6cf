// SPDX-License-Identifier: Apache-2.0
/** All that a reader does, each as a test of its own. */
import { readHeads } from "./heads.js";
import { readKinds } from "./kinds.js";
import { readPage } from "./page.js";
import { Reader } from "./reader.js";
import { readReasons } from "./reasons.js";
import { readWhole } from "./whole.js";

export function readAll(name: Reader["name"]): void {
  const reader = new Reader(name);
  for (const read of [readPage, readHeads, readReasons, readWhole, readKinds]) read(reader);
}
