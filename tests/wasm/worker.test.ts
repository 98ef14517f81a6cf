// SPDX-License-Identifier: Apache-2.0
/** Faults that only a worker can have. golden.test.ts and api.test.ts test that it computes the same. */
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { HeadlensError, load, type AsyncEngine } from "headlens";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectError, kRoot, random } from "./support.js";

let engine: AsyncEngine;
beforeAll(async () => {
  engine = await load({ worker: true });
});
afterAll(() => engine.dispose());

const x = random(1, 1, 2, 6, 8);

test("info is a plain value", () => {
  expect(engine.info).toEqual({ version: "0.1.0", simd: "relaxed", threads: 1, target: "WASM" });
});

test("errors keep class, code, message and data, and lead to the call", async () => {
  const error: unknown = await engine
    .scaledDotProductAttention(x, random(2, 1, 2, 6, 9), x)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HeadlensError);
  expect(error).toMatchObject({ name: "HeadlensError", code: "shape", argument: "k", got: "(1, 2, 6, 9)" });
  expect((error as Error).message).toMatch(/8.*9|9.*8/);
  expect((error as Error).stack).toContain("worker.test.ts");
});

test("what cannot be sent is refused, and the worker lives on", async () => {
  await expectError(
    () => engine.scaledDotProductAttention(x, x, x, { scale: (() => 1) as never }),
    "value",
    /cannot be sent/,
  );
  expect((await engine.scaledDotProductAttention(x, x, x)).output.shape).toEqual([1, 2, 6, 8]);
});

test("the caller's arrays stay the caller's; results arrive with buffers of their own", async () => {
  const input = random(3, 1, 1, 64, 64);
  const { output, weights } = await engine.scaledDotProductAttention(input, input, input, { needWeights: true });
  expect(input.data.length).toBe(64 * 64);
  expect(output.data.buffer).not.toBe(weights?.data.buffer);
  expect(output.data.buffer.byteLength).toBe(output.data.byteLength);
});

test("many calls at once, each answered with its own result", async () => {
  const inputs = Array.from({ length: 50 }, (_, i) => random(i, 1, 1, 4 + (i % 7), 8));
  const results = await Promise.all(inputs.map((q) => engine.scaledDotProductAttention(q, q, q)));
  for (const [i, q] of inputs.entries()) {
    expect(results[i]).toEqual(await engine.scaledDotProductAttention(q, q, q));
    expect(results[i]?.output.shape).toEqual(q.shape);
  }
});

test("dispose ends the worker; what was under way is rejected, not left hanging", async () => {
  const mine = await load({ worker: true });
  const large = random(4, 1, 1, 4096, 64);
  const pending = mine.scaledDotProductAttention(large, large, large);
  mine.dispose();
  await expectError(() => pending, "disposed");
  await expectError(() => mine.colorbar(2), "disposed");
});

test("disposing an object twice, or while its answer is on the way, disturbs nobody", async () => {
  const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
  mha.dispose();
  mha.dispose();
  expect(await engine.colorbar(2)).toHaveLength(8);
});

test("objects disposed here give back their memory there", async () => {
  const round = async (): Promise<void> => {
    const mha = await engine.multiheadAttention({ embedDim: 64, numHeads: 2 });
    mha.dispose();
  };
  await round();
  const before = await engine.heapBytes();
  for (let i = 0; i < 20; ++i) await round();
  expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
});

const entry = JSON.stringify(pathToFileURL(`${kRoot}dist/node.js`).href);
const run = (script: string): string =>
  execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    stdio: "pipe",
    env: {},
    timeout: 20_000,
  });

test("runs that come of a run outlive it, and end with the model", async () => {
  const model = await engine.loadModel("tiny");
  const first = await model.attend("The cat sat on", { keepValues: true });
  const next = first.attend("The cat sat on the mat.");
  first.dispose();
  const after = await next;
  const again = await after.again({ temperature: 2 });
  after.dispose();
  expect((await again.map(0, 0)).shape).toEqual([8, 8]);
  model.dispose();
  await expectError(() => again.map(0, 0), "disposed");
});

test("an idle worker does not keep the process alive, a busy one does", () => {
  const script = `
    import { load } from ${entry};
    const engine = await load({ worker: true });
    const n = 2048 * 64;
    const x = { data: new Float32Array(n).fill(0.5), shape: [1, 1, 2048, 64] };
    engine.scaledDotProductAttention(x, x, x).then(({ output }) => console.log(output.data.length === n));`;
  expect(run(script)).toBe("true\n");
});

test("a tokenizer.json whose pattern takes very long gives up, and before that is ended by dispose", () => {
  const script = `
    import { readFileSync } from "node:fs";
    import { load } from ${entry};
    const read = (name) => readFileSync(${JSON.stringify(`${kRoot}web/models/tiny/`)} + name);
    const tokenizer = JSON.parse(read("tokenizer.json"));
    tokenizer.pre_tokenizer = {
      type: "Sequence",
      pretokenizers: [{ type: "Split", pattern: { Regex: "(a+)+$" }, behavior: "Isolated", invert: false }, tokenizer.pre_tokenizer],
    };
    const engine = await load({ worker: true });
    const model = await engine.loadModel([
      new File([read("config.json")], "config.json"), new File([read("model.safetensors")], "model.safetensors"),
      new File([JSON.stringify(tokenizer)], "tokenizer.json"),
    ]);
    console.log((await model.attend("a cat")).tokens.length > 1);
    console.log(await model.attend("a".repeat(10_000) + "!").catch(({ message }) => message));
    const long = model.attend("a".repeat(8 << 20) + "!"); // as a text may take time in proportion
    const first = await Promise.race([long, new Promise((resolve) => setTimeout(resolve, 1000, "still at it"))]);
    console.log(first);
    engine.dispose();
    console.log(await long.catch(({ code }) => code));`;
  expect(run(script)).toBe('true\nthe regular expression "(a+)+$" gives up on the text: too many steps\nstill at it\ndisposed\n');
});

test("an engine inside a worker of the user's own, and a worker of that one's", () => {
  const code = `
    import { parentPort } from "node:worker_threads";
    import { load } from ${entry};
    const engine = await load();
    const nested = await load({ worker: true });
    parentPort.postMessage([engine.info.target, nested.info.target].join());
    nested.dispose();`;
  const script = `
    import { Worker } from "node:worker_threads";
    const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(${JSON.stringify(code)})), { execArgv: [] });
    worker.on("message", console.log);`;
  expect(run(script)).toBe("WASM,WASM\n");
});
