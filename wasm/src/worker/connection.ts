// SPDX-License-Identifier: Apache-2.0
import { asHeadlensError } from "../module/failures.js";
import type { WorkerLink } from "../platform/platform.js";
import { HeadlensError } from "../types/errors.js";
import type { Answer, ErrorAnswer, Notice, Question, Reply } from "./messages.js";

export type ProgressListener = (...progress: readonly number[]) => void;

/** A question, and the buffers that move with it. */
export interface Sent {
  readonly question: Question;
  readonly transfer: ArrayBuffer[];
}

interface Call {
  readonly answered: (answer: Answer) => void;
  readonly onProgress: ProgressListener | undefined;
  /** True for a call that waits for a model's files most of the time. */
  readonly waits: boolean;
}

/** Connects to a worker and keeps the calls under way, which must not wait for ever when it ends. */
export class Connection {
  readonly #calls = new Map<number, Call>();
  readonly #waiting = new Set<(error: HeadlensError) => void>();
  readonly #untilIdle = new Set<() => void>();
  #callCount = 0;
  #ended: HeadlensError | undefined;
  #hasAnswered = false;

  constructor(private readonly link: WorkerLink) {
    link.onMessage((reply) => this.#receive(reply as Reply));
    link.onFailure((message) => {
      this.end(new HeadlensError(this.#hasAnswered ? "internal" : "wasm-load", `the worker failed: ${message}`));
    });
  }

  end(reason: HeadlensError): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.link.terminate();
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
  }

  /** Returns the number of a new call. */
  nextCall(): number {
    return this.#callCount++;
  }

  /**
   * Asks what `make` gives, and returns the answer. It is made and sent before `ask` returns, so that the caller's arrays are copied as they
   * are now. Rejects with the error that the worker answers with, with what `make` throws, or when the worker ends.
   */
  async ask(call: number, make: () => Sent, onProgress?: ProgressListener): Promise<Exclude<Answer, ErrorAnswer>> {
    const answer = await this.#answerTo(call, make, onProgress);
    this.#hasAnswered = true;
    if (!("error" in answer)) return answer;
    const { code, message, stack, ...fault } = answer.error;
    const error = new HeadlensError(code, message, fault);
    if (code === "internal" && stack !== undefined) error.stack = stack; // else the caller's own frames say more
    throw error;
  }

  tell(notice: Notice): void {
    if (!this.#ended) this.link.post(notice, []);
  }

  /** Resolves in a later turn, when no call is under way but those that wait for files. */
  async idle(): Promise<void> {
    do {
      if (this.#isBusy()) await new Promise<void>((resolve) => this.#untilIdle.add(resolve));
      await new Promise((resolve) => setTimeout(resolve)); // who waited for the last answer may have more to ask
    } while (this.#isBusy());
  }

  /** Starts `work`, and resolves as it does, unless the worker has ended or ends before. */
  async whileAlive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended) throw this.#ended;
    let fail: (error: HeadlensError) => void = () => undefined;
    const ended = new Promise<never>((_, reject) => { fail = reject; });
    this.#waiting.add(fail);
    this.link.setBusy(true);
    try {
      return await Promise.race([work(), ended]);
    } finally {
      this.#waiting.delete(fail);
      if (this.#waiting.size === 0) this.link.setBusy(false);
    }
  }

  async #answerTo(call: number, make: () => Sent, onProgress: ProgressListener | undefined): Promise<Answer> {
    try {
      return await this.whileAlive(() => new Promise<Answer>((answered) => {
        const { question, transfer } = make();
        const waits = question.kind === "invoke" && question.method === "loadModel";
        this.#calls.set(call, { answered, onProgress, waits });
        this.link.post(question, transfer);
      }));
    } catch (error) {
      throw asHeadlensError(error, "value", "the arguments cannot be sent to the worker");
    } finally {
      this.#calls.delete(call);
      if (!this.#isBusy()) this.#tellIdle();
    }
  }

  #isBusy(): boolean {
    for (const { waits } of this.#calls.values()) if (!waits) return true;
    return false;
  }

  #tellIdle(): void {
    for (const resolve of this.#untilIdle) resolve();
    this.#untilIdle.clear();
  }

  #receive(reply: Reply): void {
    const call = this.#calls.get(reply.call);
    if ("progress" in reply) call?.onProgress?.(...reply.progress);
    else call?.answered(reply.answer);
  }
}
