// SPDX-License-Identifier: Apache-2.0
/** Browsers have Unicode's tables of their own, and give the ids of Hugging Face's library as Node does. */
import { build } from "esbuild";
import type { AsyncEngine, HeadlensError } from "headlens";
import type { JSHandle } from "puppeteer-core";
import { expect, test } from "vitest";
import { differences, kGoldenLines, kPublishedTokenizers } from "../tokenizer_goldens.js";
import { launchChromium, launchFirefox, root, servePackage } from "./browser.js";

interface Encoder {
  encode(text: string): { readonly ids: number[] };
}

declare const headlensTokenizer: { makeTokenizer(json: object): Encoder };

// An expression of RegExp, a table of characters and graphemes, a pattern with many properties, and a normalizer with categories.
const kNames = ["gpt2", "xlm_roberta", "gpt4o", "qwen2", "bert_uncased"];

test.each([["Chromium", launchChromium], ["Firefox", launchFirefox]] as const)("%s", async (_, launch) => {
  const [{ outputFiles: [script] }, browser] = await Promise.all([
    build({ entryPoints: [`${root}wasm/src/tokenizer/kinds.ts`], bundle: true, format: "iife", globalName: "headlensTokenizer", write: false }),
    launch(),
  ]);
  try {
    const page = await browser.newPage();
    await page.addScriptTag({ content: script?.text ?? "" });
    for (const { name, json } of kPublishedTokenizers.filter((golden) => kNames.includes(golden.name))) {
      const ids = await page.evaluate((file, lines) => {
        const tokenizer = headlensTokenizer.makeTokenizer(JSON.parse(file) as object);
        return lines.map((line) => tokenizer.encode(line).ids);
      }, JSON.stringify(json), kGoldenLines.lines);
      expect(`${name}: ${differences(name, ids)}`).toBe(`${name}: `);
    }
  } finally {
    await browser.close();
  }
});

/** Reads a text in the page with a model of BERT's tokenizer, and tries a tokenizer of a kind that there is not. */
async function readBert(engine: AsyncEngine): Promise<{ tokens: readonly string[]; refused: Partial<HeadlensError> }> {
  const bert = await engine.loadModel("tiny-bert");
  const { tokens } = await bert.attend("Where is the lamp?");
  const fileOf = async (name: string): Promise<File> =>
    new File([await (await fetch(`/dist/models/tiny-bert/${name}`)).blob()], name);
  const files = await Promise.all(["config.json", "model.safetensors"].map(fileOf));
  const broken = new File([JSON.stringify({ model: { type: "Telepathy" } })], "tokenizer.json");
  const refused = await engine.loadModel([...files, broken]).catch((error: unknown) => error as HeadlensError);
  const { code, message } = refused as Partial<HeadlensError>;
  return { tokens, refused: { ...(code && { code }), ...(message !== undefined && { message }) } };
}

test("a worker fetches the tokenizers that it has not, whose errors keep their codes", async () => {
  const [server, browser] = await Promise.all([servePackage("<!doctype html><title>worker</title>"), launchChromium()]);
  try {
    const page = await browser.newPage();
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
    await page.goto(server.url);
    // As text, since the test runner would replace an import.
    const engine = await page.evaluateHandle('import("/dist/index.js").then(({ load }) => load({ worker: true }))');
    const found = await page.evaluate(readBert, engine as JSHandle<AsyncEngine>);
    expect(found.tokens).toEqual(["[CLS]", "where", "is", "the", "lamp", "?", "[SEP]"]);
    expect(found.refused.code).toBe("unsupported");
    expect(found.refused.message).toContain("model.type is \"Telepathy\"");
    expect(asked.filter((path) => path === "/dist/tokenizers.js")).toHaveLength(1);
  } finally {
    await Promise.all([browser.close(), server.close()]);
  }
});
