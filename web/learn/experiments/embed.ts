// SPDX-License-Identifier: Apache-2.0
/** Turns tokens into vectors, with or without positions. */
import type { EmbeddingOptions, Tensor } from "headlens";
import type { LessonEngine } from "./numbers.js";

export interface EmbeddingTable {
  /** [words, D] */
  readonly weight: Tensor;
  /** [positions, D], for positions "learned". */
  readonly position_embeddings?: Tensor;
}

/** Turns T ids into vectors [T, D]. */
export async function embed(
  engine: LessonEngine, ids: readonly number[], table: EmbeddingTable, positions: EmbeddingOptions["positions"] = "none",
): Promise<Tensor> {
  const { weight, position_embeddings: learned } = table;
  const embedding = await engine.embedding({ positions });
  try {
    await embedding.loadStateDict(positions === "learned" && learned ? { weight, position_embeddings: learned } : { weight });
    return (await embedding.forward({ data: ids, shape: [ids.length] })).output;
  } finally {
    embedding.dispose();
  }
}
