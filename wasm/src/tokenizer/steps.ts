// SPDX-License-Identifier: Apache-2.0
import { wrong } from "../module/failures.js";
import { HeadlensError } from "../types/errors.js";

/** The longest text in bytes, before and after each step. */
export const kMaxText = 16 << 20;

const kBase = 1_000_000, kPerByte = 512;
const kBytesPerStep = 8;

export const kTooMany = "too many steps";

/**
 * The budget of work for one text. All stages of the tokenizer share it, so that more expressions or more sections between added tokens do
 * not allow more work. The time is therefore linear in the text's length, whatever tokenizer.json contains. A step takes about 20 ns.
 * native/tokenizer/steps.h has the same budget, and takes less of it for a pass, since its passes are faster.
 */
export class Steps {
  left: number;

  constructor(bytes: number) {
    this.left = kBase + kPerByte * bytes;
  }

  /** Takes `count` steps. Returns false when too few are left. */
  take(count: number): boolean {
    this.left = Math.max(0, this.left - count);
    return this.left > 0;
  }

  /** Takes the steps for one pass over `bytes` in `parts`. */
  takePass(bytes: number, parts: number): void {
    if (this.take(1 + parts + Math.floor(bytes / kBytesPerStep))) return;
    const [argument, got] = ["text", kTooMany];
    throw new HeadlensError("value", `this tokenizer gives up on the text: ${kTooMany}`, { argument, got });
  }
}

/** The error of a text that became too long in one of its stages. */
export function grown(bytes: number, when: string): Error {
  return wrong("memory", "text", `${bytes} bytes`, `at most ${kMaxText} when ${when}`, "grows to");
}
