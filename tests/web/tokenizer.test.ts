// SPDX-License-Identifier: Apache-2.0
/** Browsers have Unicode's tables of their own, and give the ids of Hugging Face's library as Node does. */
import { join } from "node:path";
import { build } from "esbuild";
import type { AsyncEngine, HeadlensError } from "headlens";
import type { JSHandle } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { differences } from "../tokenizer_goldens.js";
import { serve, type Server } from "../wasm/server.js";
import { launchShell, launchFirefox, root, servePackage } from "./browser.js";

interface Encoder {
  encode(text: string): { readonly ids: number[] };
}

declare const headlensTokenizer: { makeTokenizer(json: object): Encoder };

// An expression of RegExp, a table of characters and graphemes, a pattern with many properties, and a normalizer with categories.
const kNames = ["gpt2", "xlm_roberta", "gpt4o", "qwen2", "bert_uncased"];

let server: Server;

beforeAll(async () => {
  const { outputFiles: [script] } =
    await build({ entryPoints: [`${root}wasm/src/tokenizer/kinds.ts`], bundle: true, format: "iife", globalName: "headlensTokenizer", write: false });
  const own: Readonly<Record<string, readonly [type: string, text: string | undefined]>> = {
    "/": ["text/html", '<!doctype html><title>tokenizers</title><script src="/tokenizers.js"></script>'],
    "/tokenizers.js": ["text/javascript", script?.text],
  };
  server = await serve(join(root, "tests/golden/tokenizers"), (path, response) => {
    const [type, text] = own[path] ?? [];
    if (type !== undefined) response.writeHead(200, { "content-type": type }).end(text);
    return type !== undefined;
  });
});
afterAll(() => server.close());

test.each([["Chromium", launchShell], ["Firefox", launchFirefox]] as const)("%s", async (_, launch) => {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    for (const name of kNames) {
      // The page fetches the files and answers with a text, since protocols of automation take long for large objects.
      const ids = await page.evaluate(async (of) => {
        const [json, { lines }] = await Promise.all([`${of}/tokenizer.json`, "lines.json"].map(async (file) =>
          (await fetch(file)).json() as Promise<{ lines: string[] }>)) as [object, { lines: string[] }];
        const tokenizer = headlensTokenizer.makeTokenizer(json);
        return JSON.stringify(lines.map((line) => tokenizer.encode(line).ids));
      }, name);
      expect(`${name}: ${differences(name, JSON.parse(ids) as number[][])}`).toBe(`${name}: `);
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
  const [packaged, browser] = await Promise.all([servePackage("<!doctype html><title>worker</title>"), launchShell()]);
  try {
    const page = await browser.newPage();
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
    await page.goto(packaged.url);
    // As text, since the test runner would replace an import.
    const engine = await page.evaluateHandle('import("/dist/index.js").then(({ load }) => load({ worker: true }))');
    const found = await page.evaluate(readBert, engine as JSHandle<AsyncEngine>);
    expect(found.tokens).toEqual(["[CLS]", "where", "is", "the", "lamp", "?", "[SEP]"]);
    expect(found.refused.code).toBe("unsupported");
    expect(found.refused.message).toContain("model.type is \"Telepathy\"");
    expect(asked.filter((path) => path === "/dist/tokenizers.js")).toHaveLength(1);
  } finally {
    await Promise.all([browser.close(), packaged.close()]);
  }
});
