// SPDX-License-Identifier: Apache-2.0
/** All chapters of the book. */
import { Book } from "./book.js";
import { readCheckpoints } from "./checkpoints.js";
import { readDisagreements } from "./disagreements.js";
import { readHeads } from "./heads.js";
import { readKinds } from "./kinds.js";
import { readLong } from "./long.js";
import { readMasks } from "./masks.js";
import { readNotation } from "./notation.js";
import { readPositions } from "./positions.js";
import { readProjections } from "./projections.js";
import { readRoles } from "./roles.js";
import { readScores } from "./scores.js";
import { readVariants } from "./variants.js";
import { readWhy } from "./why.js";

const kChapters = [
  readWhy, readProjections, readScores, readHeads, readMasks, readKinds, readPositions,
  readRoles, readVariants, readDisagreements, readCheckpoints, readNotation, readLong,
];

export function readBook(name: Book["name"]): void {
  const book = new Book(name);
  for (const read of kChapters) read(book);
}
