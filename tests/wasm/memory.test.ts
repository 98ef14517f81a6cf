// SPDX-License-Identifier: Apache-2.0
/** Calls leave nothing behind on the wasm heap. */
import { File } from "node:buffer";
import { readdirSync } from "node:fs";
import { load, type Engine, type MultiheadAttention } from "headlens";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FileTensor, withHeader } from "../safetensors.js";
import { filesOf, folderOf, kModels } from "./golden-models.js";
import { kBuilds, layerState, random, readSafetensors } from "./support.js";

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});
afterAll(() => engine.dispose());

function round(i: number): void {
  const mha = engine.multiheadAttention({ embedDim: 32, numHeads: 4, batchFirst: true });
  mha.loadStateDict(layerState(i, 32));
  mha.forward(random(i, 2, 8 + (i % 5), 32), {
    isCausal: true,
    averageAttnWeights: false,
    stages: ["scores", "headOutputs"],
  });
  const x = random(i, 1, 2, 8, 8);
  engine.scaledDotProductAttention(x, x, x, { needWeights: true });
  engine.colorize(random(i, 8, 8));
  // Failed calls must free their memory, too.
  try {
    mha.forward(random(i, 2, 8, 31));
  } catch {
    // expected: 31 is not 32
  }
  try {
    engine.multiheadAttention({ embedDim: 32, numHeads: 5 });
  } catch {
    // expected: 32 is not a multiple of 5
  }
  mha.dispose();
}

test("a thousand rounds of create, forward, dispose leave the heap as it was", () => {
  for (let i = 0; i < 50; ++i) round(i); // until reused blocks have their places
  const before = engine.heapBytes();
  expect(before).toBeGreaterThan(0);
  for (let i = 0; i < 1000; ++i) round(i);
  expect(engine.heapBytes()).toBeLessThanOrEqual(before);
});

test("the measure sees a leak: a layer that is kept shows", () => {
  const make = (): MultiheadAttention => {
    const mha = engine.multiheadAttention({ embedDim: 64, numHeads: 4 });
    mha.loadStateDict(layerState(1, 64));
    return mha;
  };
  // Blocks that are given back are given out whole where the rest would be too small for another. This settles after
  // a few rounds, and how many depends on where the module's data end.
  for (let i = 0; i < 20; ++i) make().dispose();
  const before = engine.heapBytes();
  const mha = make();
  expect(engine.heapBytes() - before).toBeGreaterThan(4 * 4 * 64 * 64);
  mha.dispose();
  expect(engine.heapBytes()).toBe(before);
});

type Named = readonly [name: string, tensor: FileTensor];

/** The weights of a golden model in BF16, but for one tensor in F32. */
function weightsOf(tensors: readonly Named[], wide?: string): File {
  const header: Record<string, unknown> = {};
  const bodies: Uint8Array[] = [];
  let end = 0;
  for (const [name, { data, shape }] of tensors) {
    const bits = new Uint32Array(Float32Array.from(data, Number).buffer);
    const values = name === wide ? bits : Uint16Array.from(bits, (value) => value >>> 16);
    header[name] = { dtype: name === wide ? "F32" : "BF16", shape, data_offsets: [end, end += values.byteLength] };
    bodies.push(new Uint8Array(values.buffer));
  }
  return new File([withHeader(JSON.stringify(header), Buffer.concat(bodies))], "model.safetensors");
}

/** Tables of positions are added as they are. DINOv2 multiplies some matrices by another tensor, and cuts its classifier in two. */
const kPositions = /wpe|position_embeddings/;
const kOfDinov2 = /attention\.output\.dense|mlp\.fc2|mlp\.weights_out|^classifier/;

test.each(kModels)("every matrix of 16 bits stays so in memory: %s", async (name) => {
  const tensors: Named[] = readdirSync(folderOf(name)).filter((file) => /^model.*\.safetensors$/.test(file))
    .flatMap((file) => [...readSafetensors(`${folderOf(name)}/${file}`).tensors]);
  const others = filesOf(name).filter((file) => !file.name.startsWith("model"));
  if (!others.some((file) => file.name === "tokenizer.json")) {
    const model = { type: "WordLevel", vocab: { "[UNK]": 0 }, unk_token: "[UNK]" };
    others.push(new File([JSON.stringify({ model })], "tokenizer.json"));
  }
  const bytes = async (wide?: string): Promise<number> => {
    const before = engine.heapBytes();
    const model = await engine.loadModel([...others, weightsOf(tensors, wide)] as never);
    const taken = engine.heapBytes() - before;
    model.dispose();
    return taken;
  };
  await bytes(); // until reused blocks have their places
  const narrow = await bytes();
  const matrices = tensors.filter(([of, { data, shape }]) => of.endsWith(".weight") && shape.length > 1 &&
    data.length >= 240 && !kPositions.test(of) && !(name.startsWith("dinov2") && kOfDinov2.test(of)));
  expect(matrices.length).toBeGreaterThan(0);
  // Each element takes two bytes more, but for up to 340 bytes that the heap rounds, which is why the smallest matrices are left out.
  for (const [wide, { data }] of matrices) expect(await bytes(wide) - narrow, wide).toBeGreaterThan(0.5 * data.length);
});

test("memory that grows in the middle of a call moves no view of ours", async () => {
  const fresh = await load();
  const small = random(1, 1, 1, 8, 8);
  const expected = fresh.scaledDotProductAttention(small, small, small);
  // 96 MB of inputs, in a heap that starts with 16.
  const large = random(2, 1, 1, 1 << 17, 64);
  const one = random(3, 1, 1, 1, 64);
  const { output } = fresh.scaledDotProductAttention(one, large, large);
  const other = await load();
  expect(output).toEqual(other.scaledDotProductAttention(one, large, large).output);
  expect(fresh.scaledDotProductAttention(small, small, small)).toEqual(expected);
  fresh.dispose();
  other.dispose();
});

test.each(kBuilds)("more than the %s build can address is an error, and the engine lives on", async (simd) => {
  const mine = await load({ simd });
  const x = random(1, 1, 1, 70_000, 1);
  expect(() => mine.scaledDotProductAttention(x, x, x, { needWeights: true })).toThrow(
    expect.objectContaining({ code: "memory" }) as Error,
  );
  const small = random(1, 1, 1, 4, 4);
  expect(mine.scaledDotProductAttention(small, small, small).output.shape).toEqual([1, 1, 4, 4]);
  mine.dispose();
});
