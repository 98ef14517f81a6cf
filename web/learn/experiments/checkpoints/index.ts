// SPDX-License-Identifier: Apache-2.0
/** The eleven checkpoints, in the order of their numbers. */
import type { Checkpoint } from "./checkpoint.js";
import { kIndivisibleWidth, kTwoHeadsOneToken } from "./heads.js";
import { kEqualScores, kHugeScore, kMaskedToken, kNearEqualKeys, kWeakQuery } from "./scores.js";
import { kIdenticalEmbeddings, kSelfAndCross } from "./sequences.js";
import { kKeysAsValues, kOtherValues } from "./values.js";

export type { Checkpoint, Control, Experiment } from "./checkpoint.js";

export const kCheckpoints: readonly Checkpoint[] = [
  kNearEqualKeys, kHugeScore, kKeysAsValues, kSelfAndCross, kEqualScores, kOtherValues, kMaskedToken, kTwoHeadsOneToken,
  kIdenticalEmbeddings, kIndivisibleWidth, kWeakQuery,
];
