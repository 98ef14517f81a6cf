// SPDX-License-Identifier: Apache-2.0
/** Browsers have Unicode's tables of their own, and give the ids of Hugging Face's library as Node does. */
import { build } from "esbuild";
import { expect, test } from "vitest";
import { differences, kGoldenLines, kPublishedTokenizers } from "../tokenizer_goldens.js";
import { launchChromium, launchFirefox, root } from "./browser.js";

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
