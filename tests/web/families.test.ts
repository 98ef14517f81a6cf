// SPDX-License-Identifier: Apache-2.0
/** Every golden model in Chromium, through the package as it is published: PyTorch's numbers. */
import { readdirSync } from "node:fs";
import type { AsyncEngine, Tensor } from "headlens";
import type { Browser, JSHandle, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectFamily, lookAt, shownOf } from "../wasm/families.js";
import { kModels } from "../wasm/golden-models.js";
import { kBuiltIn } from "../cards.js";
import { expectClose, kEpsilon, kGolden, maxNorm, readSafetensors, tensorOf } from "../wasm/support.js";
import { launchShell, servePackage, type Served } from "./browser.js";

let browser: Browser;
let server: Served;
let page: Page;
let engine: JSHandle<AsyncEngine>;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchShell(), servePackage("<!doctype html><title>families</title>")]);
  page = await browser.newPage();
  await page.goto(server.url);
  // As text, since the test runner would replace an import.
  engine = await page.evaluateHandle(`import("/dist/index.js").then(({ load }) => load({ worker: true }))`) as typeof engine;
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

test.each(kModels)("%s does all that models can do in a browser", async (name) => {
  const found = await page.evaluate(lookAt, engine, shownOf(name, `${server.url}tests/golden/models/${name}`));
  expectFamily(name, found);
});

interface Numbers {
  readonly data: number[];
  readonly shape: number[];
}

/** The golden encoder–decoders are given ids, and have no tokenizer of their own. */
const kTokenizer = JSON.stringify({ model: { type: "WordLevel", vocab: { "<unk>": 0 }, unk_token: "<unk>" } });

/** The results of a pair: what all heads of each attention look at, [layer][head], and the logits of a pass and of steps. */
interface FoundPair {
  readonly maps: Readonly<Record<string, Numbers[][]>>;
  readonly logits: Numbers;
  readonly steps: Numbers[];
}

/** Reads a pair in the page. It refers to nothing outside of itself, so that a browser can run it. */
async function readPair(
  engine: AsyncEngine, folder: string, tokenizer: string, source: number[], target: number[], mask: boolean[],
): Promise<FoundPair> {
  const fetched = async (name: string): Promise<File> => new File([await (await fetch(folder + name)).blob()], name);
  const read = ["config.json", "model.safetensors"].map(fetched);
  const model = await engine.loadModel([...await Promise.all(read), new File([tokenizer], "tokenizer.json")]);
  const plain = ({ data, shape }: Tensor): Numbers => ({ data: Array.from(data), shape: [...shape] });
  const seen = await model.attend({ source, target }, mask.length > 0 ? { sourcePaddingMask: mask } : {});
  const maps: Record<string, Numbers[][]> = {};
  for (const attention of ["encoder", "decoder", "cross"] as const) {
    const layers: Numbers[][] = maps[attention] = [];
    const { layers: count = 0, heads = 0 } = attention === "encoder" ? model.info.encoder ?? {} : model.info;
    for (let layer = 0; layer < count; ++layer) {
      const row: Numbers[] = [];
      for (let head = 0; head < heads; ++head) row.push(plain(await seen.map(layer, head, { attention })));
      layers.push(row);
    }
  }
  const logits = plain(await seen.logits());
  const steps: Numbers[] = [];
  const decoding = await model.startDecoding({ source });
  for (const id of target) steps.push(plain((await decoding.step([id])).logits));
  model.dispose();
  return { maps, logits, steps };
}

const kPairs = readdirSync(`${kGolden}/encoder_decoders`);

test.each(kPairs)("%s: three attentions, logits and decoding in a browser", async (name) => {
  const golden = readSafetensors(`${kGolden}/encoder_decoders/${name}/expected.safetensors`);
  const ids = (which: string): number[] => [...tensorOf(golden, which).data];
  const mask = Array.from(golden.tensors.get("padding")?.data ?? [], (value) => value === 1);
  const folder = `${server.url}tests/golden/encoder_decoders/${name}/`;
  const given = [ids("source_ids"), ids("target_ids"), mask] as const;
  const found = await page.evaluate(readPair, engine, folder, kTokenizer, ...given);
  const tolerance = 128 * kEpsilon * maxNorm(tensorOf(golden, "decoder.hidden").data);
  for (const [attention, layers] of Object.entries(found.maps)) {
    const weights = tensorOf(golden, `${attention}.weights`);
    const data = layers.flat().flatMap((map) => map.data), [first = []] = layers;
    const shape = [layers.length, first.length, ...first[0]?.shape ?? []];
    expectClose(attention, { data, shape }, weights, tolerance);
  }
  const logits = tensorOf(golden, "logits"), most = 64 * kEpsilon * maxNorm(logits.data);
  expectClose("logits", found.logits, logits, most);
  if (mask.length > 0) return; // a text that is decoded has no padding
  expectClose("steps", { data: found.steps.flatMap(({ data }) => data), shape: [...logits.shape] }, logits, most);
});

test.each(kBuiltIn)("%s opens by its name", async (name) => {
  const info = await page.evaluate(async (held, model) => (await held.loadModel(model)).info, engine, name);
  expect(info.name).toBe(name);
});

test("all families are here", () => {
  expect(kModels.length).toBeGreaterThanOrEqual(28);
});
