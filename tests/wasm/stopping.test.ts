// SPDX-License-Identifier: Apache-2.0
/** Runs of a model that say how far they are, that let others have their turn, and that can be stopped. */
import {
  load, type AsyncModel, type AsyncModelAttention, type HeadlensError, type Model, type ModelAttention, type ModelInput,
} from "headlens";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import type { AnyEngine } from "./cases.js";
import { bits, expectError } from "./support.js";

const kIds = Array.from({ length: 250 }, (_, i) => (i * 37) % 2048);

type Followed = Parameters<AsyncModel["attend"]>[1];
type Seen = ModelAttention | AsyncModelAttention;

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  let model: Model | AsyncModel;
  const attend = async (input: ModelInput, options: Followed): Promise<Seen> => model.attend(input, options as object);
  beforeAll(async () => {
    engine = await load({ worker });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test("the numbers are those of a run at once, and progress rises to 1", async () => {
    const mask = { data: Float32Array.from({ length: 32 }, (_, i) => i / 32), shape: [4, 8] };
    for (const options of [{}, { keepHidden: true, keepValues: true, headMask: mask, replacedTokens: [3] }]) {
      const expected = await model.attend(kIds, options);
      const shares: number[] = [];
      const seen = await model.attend(kIds, { ...options, onProgress: (done) => shares.push(done) });
      // There are three steps in each layer, and a worker tells of those that are some milliseconds apart.
      expect(shares.length).toBeGreaterThanOrEqual(worker ? 1 : 12);
      expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b));
      expect(shares[0]).toBeGreaterThan(0);
      expect(shares.at(-1)).toBe(1);
      expect(seen.tokens).toEqual(expected.tokens);
      expect(bits(await seen.logits())).toEqual(bits(await expected.logits()));
      for (let layer = 0; layer < 4; ++layer) {
        expect(bits(await seen.overview(layer))).toEqual(bits(await expected.overview(layer)));
        if ("keepValues" in options) {
          expect(bits(await seen.hidden(layer))).toEqual(bits(await expected.hidden(layer)));
          expect(bits(await seen.values(layer))).toEqual(bits(await expected.values(layer)));
        }
      }
      seen.dispose();
      expected.dispose();
    }
  });

  test("others have their turn meanwhile, and runs may interleave", async () => {
    const order: string[] = [];
    const first = attend(kIds, { onProgress: (done) => { if (done === 1) order.push("first"); } });
    const second = attend("The cat", { signal: new AbortController().signal }).then((seen) => {
      order.push("second");
      return seen;
    });
    const [long, short] = await Promise.all([first, second]);
    expect(order).toHaveLength(2);
    expect([long.tokens.length, short.tokens.length]).toEqual([250, 3]);
    const again = await model.attend("The cat");
    expect(bits(await short.map(3, 3))).toEqual(bits(await again.map(3, 3)));
    for (const seen of [long, short, again]) seen.dispose();
  });

  test("stopped before, from progress, and by what progress throws; nothing is left behind", async () => {
    const round = async (): Promise<void> => {
      await expectError(() => attend(kIds, { signal: AbortSignal.abort() }), "aborted", "attend was aborted by its signal");
      for (const share of [0, 0.3, 0.9]) {
        const abort = new AbortController();
        const onProgress = (done: number): void => { if (done > share) abort.abort(); };
        const stopped = attend(kIds, { signal: abort.signal, onProgress });
        // A worker may be done before it hears of it.
        if (worker) await stopped.then((seen) => { seen.dispose(); }, ({ code }: HeadlensError) => { expect(code).toBe("aborted"); });
        else await expectError(() => stopped, "aborted");
        const mine = new Error("mine");
        let calls = 0;
        const throwing = attend(kIds, { onProgress: (done) => { if (done > share && ++calls > 0) throw mine; } });
        expect(await throwing.catch((error: unknown) => error)).toBe(mine);
        expect(calls).toBe(1);
      }
    };
    await round();
    await round();
    const before = await engine.heapBytes();
    for (let i = 0; i < 3; ++i) await round();
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
    const seen = await model.attend("The cat");
    expect((await seen.map(0, 0)).shape).toEqual([3, 3]);
    seen.dispose();
  });

  test("what is wrong is refused as without turns", async () => {
    const signal = new AbortController().signal;
    await expectError(() => attend([99999], { signal }), "value", "text: id 0 is 99999");
    await expectError(() => attend(kIds, { signal, headMask: { data: [1], shape: [1] } }), "shape", "headMask has shape (1,)");
    await expectError(() => attend(kIds, { signal, keepValues: 1 } as never), "option", "keepValues is 1");
    await expectError(() => attend(kIds, { signal: 1 } as never), "option", "signal is 1, expected an AbortSignal");
    await expectError(() => attend(kIds, { onProgress: "x" } as never), "option", "onProgress is \"x\", expected a function");
    const absent = await attend("The cat", { signal: null, onProgress: null } as never);
    expect(absent.tokens).toHaveLength(3);
    absent.dispose();
  });

  test("disposed in the middle of a run", async () => {
    const mine = await load({ worker });
    const tiny = await mine.loadModel("tiny");
    let calls = 0;
    const run: Promise<Seen> = Promise.resolve(
      tiny.attend(kIds, { onProgress: () => { if (++calls === 1) tiny.dispose(); } }));
    // A worker may be done before it hears of it, and what it made is gone then.
    await run.then((seen) => expectError(() => seen.map(0, 0), "disposed"), ({ code }: HeadlensError) => { expect(code).toBe("disposed"); });
    mine.dispose();
  });
});

/** The built-in model with positions for a text that takes long. */
function longModel(): File[] {
  const read = (name: string): Buffer => readFileSync(`${kRoot}web/models/tiny/${name}`);
  const config = { ...JSON.parse(read("config.json").toString()) as object, max_position_embeddings: 4096 };
  const others = ["tokenizer.json", "model.safetensors"].map((name) => new File([new Uint8Array(read(name))], name));
  return [new File([JSON.stringify(config)], "config.json"), ...others];
}

test("an aborted run in a worker ends before it is done, and leaves the worker free", async () => {
  const engine = await load({ worker: true });
  const model = await engine.loadModel(longModel());
  const ids = Array.from({ length: 3000 }, (_, i) => (i * 37) % 2048);
  const shares: number[] = [];
  const abort = new AbortController();
  const run = model.attend(ids, {
    signal: abort.signal,
    onProgress: (done) => {
      shares.push(done);
      abort.abort();
    },
  });
  await expectError(() => run, "aborted", "attend was aborted by its signal");
  expect(shares.at(-1)).toBeLessThan(1);
  const seen = await model.attend("The cat");
  expect(seen.tokens).toHaveLength(3);
  engine.dispose();
});
