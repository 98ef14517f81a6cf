// SPDX-License-Identifier: Apache-2.0
/** Models: the built-in one against PyTorch's numbers, where models come from, and every way in which reading one can fail. */
import { readFileSync } from "node:fs";
import { File } from "node:buffer";
import type { ServerResponse } from "node:http";
import { pathToFileURL } from "node:url";
import { load, type AsyncEngine, type AsyncModel, type Engine, type Model, type ModelAttention } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve, type Server } from "./server.js";
import {
  expectClose,
  expectError,
  kBuilds,
  kEpsilon,
  kGolden,
  kRoot,
  maxNorm,
  readSafetensors,
  tensorOf,
} from "./support.js";

const kFolder = `${kRoot}web/models/tiny`;
const kNames = ["config.json", "tokenizer.json", "model.safetensors"] as const;
const kText = "The cat sat on the mat because it was tired.";

describe.each(kBuilds)("the built-in model on the %s build", (simd) => {
  let engine: Engine;
  let model: Model;
  beforeAll(async () => {
    engine = await load({ simd });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test("says what it is", () => {
    const config = JSON.parse(readFileSync(`${kFolder}/config.json`, "utf8")) as Record<string, number>;
    const heads = config.num_attention_heads ?? NaN;
    expect(model.info).toEqual({
      name: "tiny",
      family: "llama",
      causal: true,
      segments: 0,
      window: 0,
      logits: config.vocab_size,
      layers: config.num_hidden_layers,
      heads,
      kvHeads: config.num_key_value_heads ?? heads,
      headDim: config.head_dim ?? (config.hidden_size ?? NaN) / heads,
      embedDim: config.hidden_size,
      vocabSize: config.vocab_size,
      maxPositions: config.max_position_embeddings,
    });
  });

  test("PyTorch's tokens, weights of every head and logits", () => {
    const golden = readSafetensors(`${kGolden}/model/tiny.safetensors`);
    const attention = model.attend(golden.metadata.text ?? "", { logits: true });
    expect(attention.ids).toEqual(Array.from(tensorOf(golden, "ids").data));
    const weights = tensorOf(golden, "weights");
    const [layers = 0, heads = 0, t = 0] = weights.shape;
    expect([layers, heads]).toEqual([model.info.layers, model.info.heads]);
    // Each layer rounds the residual stream anew; what it rounds is as large as the stream.
    const tolerance = 4 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);
    for (let layer = 0; layer < layers; ++layer) {
      for (let head = 0; head < heads; ++head) {
        const at = (layer * heads + head) * t * t;
        const expected = { data: weights.data.subarray(at, at + t * t), shape: [t, t] };
        expectClose(`layer ${layer} head ${head}`, attention.map(layer, head), expected, tolerance);
      }
    }
    const logits = tensorOf(golden, "logits");
    expectClose("logits", attention.logits(), logits, tolerance * Math.max(1, maxNorm(logits.data)));
    attention.dispose();
  });
});

/** Text of the tokens, with bytes of split characters put together again. */
function joined(tokens: readonly string[]): string {
  const bytes = tokens.flatMap((token) =>
    [...token.matchAll(/⟨([0-9A-F]{2})⟩|([^]+?)(?=⟨[0-9A-F]{2}⟩|$)/g)].flatMap(([, hex, text]) =>
      hex ? [parseInt(hex, 16)] : [...new TextEncoder().encode(text)],
    ),
  );
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

describe.each([false, true])("attending, worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let model: Model | AsyncModel;
  beforeAll(async () => {
    engine = await load({ worker });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test.each([
    kText,
    "  two  spaces\tand a tab\nand a line",
    "café naïve 日本語 🐈",
    "<b onclick=x>&amp;</b>",
    "x",
    " ",
    "",
  ])("the tokens of %j join back to it", async (text) => {
    const attention = await model.attend(text);
    const [first = "", ...rest] = attention.tokens;
    expect(first).toBe("<s>");
    expect(joined(rest)).toBe(text);
    expect(attention.ids).toHaveLength(attention.tokens.length);
    expect(attention.tokenCount).toBe(attention.tokens.length);
    attention.dispose();
  });

  test("every row of every map sums to 1 and looks at nothing that comes later", async () => {
    const attention = await model.attend(kText);
    const t = attention.tokens.length;
    for (let layer = 0; layer < model.info.layers; ++layer) {
      for (let head = 0; head < model.info.heads; ++head) {
        const { data, shape } = await attention.map(layer, head);
        expect(shape).toEqual([t, t]);
        for (let row = 0; row < t; ++row) {
          const weights = data.subarray(row * t, (row + 1) * t);
          expect(Math.abs(weights.reduce((a, b) => a + b, 0) - 1)).toBeLessThanOrEqual(t * kEpsilon);
          expect(weights.subarray(row + 1).every((w) => w === 0)).toBe(true);
          expect(weights.subarray(0, row + 1).every((w) => w >= 0 && w <= 1)).toBe(true);
        }
      }
    }
    attention.dispose();
  });

  test("rows of a map are the map's rows; pooled cells are means of blocks", async () => {
    const ids = Array.from({ length: 64 }, (_, i) => (i * 37) % model.info.vocabSize);
    const attention = await model.attend(ids);
    expect(attention.ids).toEqual(ids);
    const whole = await attention.map(1, 1);
    const rows = await attention.map(1, 1, { rows: [10, 13] });
    expectClose("rows", rows, { data: whole.data.subarray(640, 832), shape: [3, 64] }, 8 * kEpsilon);
    expect((await attention.map(1, 1, { rows: [5, 5] })).shape).toEqual([0, 64]);
    const pooled = await attention.map(1, 1, { pool: [8, 4] });
    const means = Array.from({ length: 32 }, (_, i) => {
      let sum = 0;
      for (let row = 0; row < 8; ++row) {
        for (let col = 0; col < 16; ++col)
          sum += whole.data[(Math.floor(i / 4) * 8 + row) * 64 + (i % 4) * 16 + col] ?? NaN;
      }
      return sum / 128;
    });
    expectClose("pooled", pooled, { data: means, shape: [8, 4] }, 16 * kEpsilon);
    expect(await attention.map(1, 1, { pool: [64, 1e6] })).toEqual(whole);
    attention.dispose();
  });

  test("pixels: the whole map, what comes later is transparent", async () => {
    const attention = await model.attend("The cat sat");
    const t = attention.tokens.length;
    const picture = await attention.pixels(0, 0, { min: 0, max: 1 });
    expect([picture.width, picture.height]).toEqual([t, t]);
    picture.data.forEach((value, i) => {
      if (i % 4 === 3) expect(value).toBe(Math.floor(i / 4) % t > Math.floor(i / 4 / t) ? 0 : 255);
    });
    const same = await engine.colorize(await attention.map(0, 0), { causal: true, min: 0, max: 1 });
    expect(same).toEqual(picture);
    attention.dispose();
  });

  test("logits when asked for", async () => {
    const attention = await model.attend("The cat", { logits: true });
    expect((await attention.logits()).shape).toEqual([attention.tokens.length, model.info.vocabSize]);
    const without = await model.attend("The cat");
    await expectError(() => without.logits(), "option", /logits/);
    attention.dispose();
    without.dispose();
  });

  test("one text while another is looked at", async () => {
    const first = await model.attend(kText);
    const before = await first.map(1, 0);
    const second = await model.attend("Something else entirely, and longer than the first text was by a good deal.");
    expect(await first.map(1, 0)).toEqual(before);
    first.dispose();
    expect((await second.map(1, 0)).shape[0]).toBe(second.tokens.length);
    second.dispose();
  });

  test("more tokens than positions: an error, or the beginning when asked", async () => {
    const { maxPositions } = model.info;
    const ids = new Array<number>(maxPositions + 3).fill(5);
    await expectError(() => model.attend(ids), "value", String(maxPositions + 3), String(maxPositions));
    const attention = await model.attend(ids, { truncate: true });
    expect([attention.ids.length, attention.tokenCount]).toEqual([maxPositions, maxPositions + 3]);
    attention.dispose();
  });

  test.each<[unknown, unknown, string, RegExp]>([
    [7, {}, "dtype", /text is 7, expected a string or an array/],
    [undefined, {}, "dtype", /text is undefined/],
    [[], {}, "value", /text has 0 tokens/],
    [[1, -1], {}, "value", /text: id 1 is -1/],
    [[1.5], {}, "value", /text: id 0 is 1.5/],
    [[1e9], {}, "value", /text: id 0 is 1000000000, expected a whole number from 0 to/],
    [["1"], {}, "value", /text: id 0 is "1"/],
    ["x", { logits: 1 }, "option", /logits is 1/],
    ["x", { logit: true }, "option", /unknown option "logit"/],
  ])("attend(%j, %j) is refused", (text, options, code, message) =>
    expectError(() => model.attend(text as string, options as object), code as "value", message),
  );

  test.each<[string, readonly unknown[], RegExp]>([
    ["map", [9, 0], /layer is 9, expected a whole number from 0 to/],
    ["map", [0, -1], /head is -1/],
    ["map", [0, 0.5], /head is 0.5/],
    ["map", [undefined, 0], /layer is undefined/],
    ["map", ["0", 0], /layer is "0"/],
    ["map", [0, 0, { rows: [0, 99] }], /rows is \[0,99\], expected two whole numbers from 0 to/],
    ["map", [0, 0, { rows: [2, 1] }], /rows is \[2,1\]/],
    ["map", [0, 0, { rows: [1] }], /rows is \[1\]/],
    ["map", [0, 0, { rows: 1 }], /rows is 1/],
    ["map", [0, 0, { pool: [0, 4] }], /pool is \[0,4\]/],
    ["map", [0, 0, { row: [0, 1] }], /unknown option "row"/],
    ["pixels", [0, 99], /head is 99/],
    ["pixels", [0, 0, { theme: "blue" }], /theme is "blue"/],
  ])("%s(...%j) is refused", async (method, args, message) => {
    const attention = await model.attend("The cat");
    const call = attention[method as "map"].bind(attention) as (...all: readonly unknown[]) => unknown;
    const error: unknown = await Promise.resolve()
      .then(() => call(...args))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "HeadlensError", message: expect.stringMatching(message) as string });
    attention.dispose();
  });

  test("a model disposed takes its attentions along; the engine goes on", async () => {
    const mine = await engine.loadModel("tiny");
    const attention = await mine.attend(kText);
    mine.dispose();
    await expectError(() => attention.map(0, 0), "disposed", /attention was disposed/);
    await expectError(() => mine.attend(kText), "disposed", /model was disposed/);
    attention.dispose();
    expect(attention.tokens[1]).toBe("The");
    expect(await engine.colorbar(2)).toHaveLength(8);
  });

  test("a hundred texts, and three models, leave nothing on the heap", async () => {
    const round = async (i: number): Promise<void> => {
      const attention = await model.attend(`${kText} ${i}`, { logits: true });
      await attention.map(0, 0, { pool: [4, 4] });
      await attention.logits();
      attention.dispose();
    };
    const reload = async (): Promise<void> => (await engine.loadModel("tiny")).dispose();
    await round(0);
    await reload();
    const before = await engine.heapBytes();
    for (let i = 0; i < 100; ++i) await round(i);
    for (let i = 0; i < 3; ++i) await reload();
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
  });
});

/** What a server may say instead of a file. */
type Answer = (response: ServerResponse) => void;

describe.each([false, true])("where a model comes from, worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let server: Server;
  let faults: Partial<Record<string, Answer>> = {};
  beforeAll(async () => {
    engine = await load({ worker });
    server = await serve(kRoot, (path, response) => {
      const fault = faults[path.split("/").at(-1) ?? ""];
      fault?.(response);
      return fault !== undefined;
    });
  });
  afterAll(async () => {
    engine.dispose();
    await server.close();
  });

  async function expectReads(model: Model | AsyncModel, name: string): Promise<void> {
    expect(model.info.name).toBe(name);
    const attention: Pick<ModelAttention, "ids" | "dispose"> = await model.attend(kText);
    expect(attention.ids.length).toBeGreaterThan(5);
    model.dispose();
  }

  /** With these answers in place of files, loading must fail so. */
  async function expectFault(
    answers: typeof faults,
    code: "model-load" | "format" | "aborted",
    ...words: (string | RegExp)[]
  ): Promise<void> {
    faults = answers;
    try {
      await expectError(() => engine.loadModel(`${server.url}web/models/tiny`), code, ...words);
    } finally {
      faults = {};
    }
  }
  const text =
    (content: string): Answer =>
    (response) =>
      void response.writeHead(200).end(content);

  test("a URL, with or without its slash", async () => {
    await expectReads(await engine.loadModel(`${server.url}web/models/tiny`), "tiny");
    await expectReads(await engine.loadModel(new URL(`${server.url}web/models/tiny/`)), "tiny");
  });

  test("a path, relative to the process, and a file: URL", async () => {
    expect(process.cwd()).toBe(kRoot.slice(0, -1));
    await expectReads(await engine.loadModel("./web/models/tiny"), "tiny");
    await expectReads(await engine.loadModel(pathToFileURL(kFolder)), "tiny");
  });

  test("files, as a file input or a drop gives them", async () => {
    const files = kNames.map((name) => new File([readFileSync(`${kFolder}/${name}`)], name));
    await expectReads(await engine.loadModel(files as never), "model");
    await expectError(() => engine.loadModel(files.slice(1) as never), "value", /config.json missing/);
    await expectError(() => engine.loadModel([]), "value", /config.json, tokenizer.json, model.safetensors missing/);
  });

  test("progress: bytes so far, and of how many", async () => {
    const seen: [number, number][] = [];
    const model = await engine.loadModel(`${server.url}web/models/tiny`, {
      onProgress: (...bytes) => seen.push(bytes),
    });
    const size = kNames.reduce((sum, name) => sum + readFileSync(`${kFolder}/${name}`).length, 0);
    // A worker's last words may still be on their way.
    await expect.poll(() => seen.at(-1)).toEqual([size, size]);
    expect(seen.map(([loaded]) => loaded)).toEqual(seen.map(([loaded]) => loaded).sort((a, b) => a - b));
    for (const [, total] of seen) expect([0, size]).toContain(total);
    model.dispose();
  });

  test("aborted before, or in the middle", async () => {
    await expectError(() => engine.loadModel("tiny", { signal: AbortSignal.abort() }), "aborted");
    const abort = new AbortController();
    faults = {
      "model.safetensors": (response) => {
        const whole = readFileSync(`${kFolder}/model.safetensors`);
        response.writeHead(200, { "content-length": whole.length });
        response.write(whole.subarray(0, 100_000));
      },
    };
    const pending = engine.loadModel(`${server.url}web/models/tiny`, {
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    await expectError(() => pending, "aborted");
    faults = {};
    await expectReads(await engine.loadModel("tiny"), "tiny");
  });

  test.each(kNames)("%s missing", (name) =>
    expectFault(
      { [name]: (response) => void response.writeHead(404).end() },
      "model-load",
      `${server.url}web/models/tiny/${name}`,
      "404",
    ),
  );

  test("a file larger than any should be is not read", async () => {
    await expectFault(
      { "config.json": (response) => void response.writeHead(200, { "content-length": 1e9 }).write("{") },
      "model-load",
      /config.json: 1000000000 bytes, expected at most 67108864/,
    );
    await expectFault(
      { "model.safetensors": (response) => void response.writeHead(200, { "content-length": 3e9 }).write("x") },
      "model-load",
      /3000000000 bytes, expected at most 2147483648/,
    );
    // No length given: counted as it comes.
    const endless: Answer = (response) => {
      response.writeHead(200);
      const write = (): boolean =>
        response.destroyed || (response.write(new Uint8Array(1 << 20)) ? write() : !!response.once("drain", write));
      write();
    };
    await expectFault(
      { "tokenizer.json": endless },
      "model-load",
      /tokenizer.json: \d+ bytes, expected at most 67108864/,
    );
  });

  test("a connection that breaks", () =>
    expectFault(
      {
        "model.safetensors": (response) => {
          response.writeHead(200, { "content-length": 1_000_000 });
          response.write(new Uint8Array(1000), () => response.destroy());
        },
      },
      "model-load",
      /model.safetensors: /,
    ));

  test("files that are not what they should be", async () => {
    await expectFault({ "config.json": text("not json") }, "format", /^config.json: /);
    await expectFault({ "config.json": text("[]") }, "format", /config/);
    await expectFault({ "config.json": text("{}") }, "format", /./);
    await expectFault({ "tokenizer.json": text("<!doctype html>") }, "format", /^tokenizer.json: /);
    await expectFault({ "tokenizer.json": text("{}") }, "format", /^tokenizer.json: /);
    await expectFault({ "tokenizer.json": text("3") }, "format", /^tokenizer.json holds 3/);
    await expectFault({ "model.safetensors": text("") }, "format", /./);
    await expectFault({ "model.safetensors": text("\xff".repeat(64)) }, "format", /./);
  });

  test.each([7, {}, null, ["a"], [null], [new Blob([])]])("%j is no source", (source) =>
    expectError(() => engine.loadModel(source as never), "value", /source is/),
  );

  test("unknown options, and URLs that are none", async () => {
    await expectError(
      () => engine.loadModel("tiny", { onprogress: () => undefined } as never),
      "option",
      /unknown option "onprogress"/,
    );
    await expectError(
      () => engine.loadModel("tiny", { signal: true } as never),
      "option",
      /signal is true, expected an AbortSignal/,
    );
    await expectError(
      () => engine.loadModel("tiny", { onProgress: 1 } as never),
      "option",
      /onProgress is 1, expected a function/,
    );
    await expectError(() => engine.loadModel("http://["), "value", /source .* no URL/);
    await expectError(() => engine.loadModel("nowhere"), "model-load", /nowhere/, /404/);
  });
});
