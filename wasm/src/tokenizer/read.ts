// SPDX-License-Identifier: Apache-2.0
/** A page begins with a tokenizer of GPT-2's kind, whose steps are here. Those of all others are in a script that is fetched when one is read. */
import { asHeadlensError } from "../module/failures.js";
import { makeBpe } from "./bpe.js";
import { makeByteLevel } from "./byte-level.js";
import { type StepKinds, TextTokenizer } from "./tokenizer.js";

const kGpt2: StepKinds = { models: { BPE: makeBpe }, normalizers: {}, preTokenizers: { ByteLevel: makeByteLevel } };

/** The script with all kinds. */
export type Tokenizers = Pick<typeof import("./kinds.js"), "makeTokenizer">;

type Written = Readonly<Record<string, { readonly type?: unknown } | null | undefined>>;

function isLikeGpt2(json: object): boolean {
  const { model, normalizer, pre_tokenizer: splits, target_tokenizer: target } = json as Written;
  return model?.type === "BPE" && splits?.type === "ByteLevel" && !normalizer && !target;
}

/** Makes the tokenizer of a parsed tokenizer.json. Throws "format" and "unsupported" errors that name the field. */
export async function readTokenizer(json: object, tokenizers: () => Promise<Tokenizers>): Promise<TextTokenizer> {
  if (isLikeGpt2(json)) return new TextTokenizer(json, kGpt2);
  const { makeTokenizer } = await tokenizers().catch((error: unknown) => {
    throw asHeadlensError(error, "model-load", "the script of the other kinds of tokenizers");
  });
  return makeTokenizer(json);
}
