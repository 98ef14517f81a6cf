// SPDX-License-Identifier: Apache-2.0
/** Exports of an element open in the programs that they are for, and their numbers are the engine's. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { load, type Engine, type ModelAttention } from "headlens";
import { PNG } from "pngjs";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { readMaps } from "../../web/files/maps-file.js";
import { serve, type Server } from "../wasm/server.js";
import { holds, launchShell, open, root, seen as visible } from "./browser.js";

const kText = "The cat sat on the mat because it was tired.";
const kHostile = ["</script><b>", "]]>", "\"'&", "\u001b\u202e\ud800", "שלום", "=1+1"];
const kFolder = mkdtempSync(join(tmpdir(), "headlens-"));

let browser: Browser;
let server: Server;
let engine: Engine;
let seen: ModelAttention;

beforeAll(async () => {
  const page = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Export</title>'
    + '<script type="module" src="/dist/element.js"></script><body></body></html>';
  [browser, engine, server] = await Promise.all([launchShell(), load(), serve(root, (path, response) => {
    if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
    if (path === "/given.json") return Boolean(response.writeHead(200).end("[[0.25, 0.75], [0.5, 0.5]]"));
    if (path === "/") response.writeHead(200, { "content-type": "text/html" }).end(page);
    return path === "/";
  })]);
  seen = (await engine.loadModel("tiny")).attend(kText);
});
afterAll(async () => {
  await browser.close();
  await server.close();
  engine.dispose();
  rmSync(kFolder, { recursive: true });
});

type Form = "toSVG" | "toCSV" | "toJSON" | "toHTML" | "toEmbedCode";

/** A page with one element that has these properties, which is drawn. */
async function drawn(properties: object): Promise<Page> {
  const { page, faults } = await open(browser, server.url, { width: 900, height: 900 }, false);
  await page.evaluate(async (given) => {
    await customElements.whenDefined("attention-map");
    const element = Object.assign(document.createElement("attention-map"), given);
    const done = new Promise((resolve) => element.addEventListener("attention-draw", resolve, { once: true }));
    document.body.append(element);
    await done;
  }, properties);
  expect(faults).toEqual([]);
  return page;
}

const made = (page: Page, form: Form): Promise<string> =>
  page.evaluate((name) => (document.querySelector("attention-map") as AttentionMap)[name](), form);

async function bytesOf(page: Page, make: "toNPY" | "toBlob", scale = 1): Promise<Buffer> {
  const bytes = await page.evaluate(async (name, size) => {
    const element = document.querySelector("attention-map") as AttentionMap;
    const got = name === "toNPY" ? await element.toNPY() : await (await element.toBlob({ scale: size })).arrayBuffer();
    return [...new Uint8Array(got)];
  }, make, scale);
  return Buffer.from(bytes);
}

/** The colours in the middle of each cell of the shown map, on the screen. */
const shownColors = (page: Page, count: number): Promise<number[][]> => page.evaluate((size) => {
  const shadowRoot = document.querySelector("attention-map")?.shadowRoot;
  const canvas = shadowRoot?.querySelector<HTMLCanvasElement>(".cells > canvas");
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return [];
  return Array.from({ length: size * size }, (_, cell) => {
    const [across, down] = [(cell % size + 0.5) / size, (Math.floor(cell / size) + 0.5) / size];
    return [...context.getImageData(Math.floor(across * canvas.width), Math.floor(down * canvas.height), 1, 1).data];
  });
}, count);

/** The place of the map in a drawing, in its pixels. */
function mapIn(svg: string): { x: number; y: number; width: number; height: number } {
  const images = [...svg.matchAll(/<image x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)];
  const boxes = images.map(([, ...box]) => box.map(Number)).sort((a, b) => (b[3] ?? 0) - (a[3] ?? 0));
  const [x = 0, y = 0, width = 0, height = 0] = boxes[0] ?? [];
  return { x, y, width, height };
}

/** Holds the cells of a picture that is `scale` times as large as the drawing against those on the screen. */
function expectCells(picture: PNG, svg: string, colors: number[][], scale: number): void {
  const { x, y, width, height } = mapIn(svg);
  const size = Math.sqrt(colors.length);
  for (const [cell, color] of colors.entries()) {
    if (color[3] === 0) continue; // hatched
    const across = Math.floor(scale * (x + ((cell % size) + 0.5) * width / size));
    const down = Math.floor(scale * (y + (Math.floor(cell / size) + 0.5) * height / size));
    const at = (down * picture.width + across) * 4;
    expect([...picture.data.subarray(at, at + 3)], `cell ${cell}`).toEqual(color.slice(0, 3));
  }
}

describe("pictures", () => {
  test("an SVG has the words as text and the cells in their colours, in librsvg as in the browser", async () => {
    const page = await drawn({ text: kText, view: "map", layer: 3, head: 2 });
    const svg = await made(page, "toSVG");
    const colors = await shownColors(page, seen.tokens.length);
    const words = [...svg.matchAll(/<text[^>]*>\u2068([^<]*)\u2069<\/text>/g)].map(([, word]) => word).join("");
    for (const word of ["3.2", "·because", "key →", "0 – 1", "masked"]) expect(words).toContain(word);
    const path = join(kFolder, "map.svg");
    writeFileSync(path, svg);
    const picture = PNG.sync.read(execFileSync("rsvg-convert", ["--zoom=2", path]));
    expectCells(picture, svg, colors, 2);
    const opened = await open(browser, pathToFileURL(path).href, { width: 900, height: 900 }, false);
    expectCells(PNG.sync.read(Buffer.from(await opened.page.screenshot())), svg, colors, 1);
    expect(opened.faults).toEqual([]);
    await Promise.all([page.close(), opened.page.close()]);
  });

  test.each([1, 4])("a PNG at %i×", async (scale) => {
    const page = await drawn({ text: kText, view: "map", layer: 3, head: 2, theme: "dark" });
    const svg = await made(page, "toSVG");
    const picture = PNG.sync.read(await bytesOf(page, "toBlob", scale));
    expect(picture.width / scale).toBeCloseTo(Number(/width="([\d.]+)"/.exec(svg)?.[1]), 0);
    expectCells(picture, svg, await shownColors(page, seen.tokens.length), scale);
    await page.close();
  });

  test("hostile names are text in every form", async () => {
    const weights = { data: Array.from({ length: 36 }, (_, i) => i / 35), shape: [6, 6] };
    const page = await drawn({ weights, tokens: kHostile, view: "map" });
    const forms: Record<string, string> = {};
    for (const form of ["toSVG", "toHTML", "toEmbedCode", "toCSV", "toJSON"] as const) forms[form] = await made(page, form);
    const { tags, errors } = await page.evaluate((svg, html, code) => {
      const xml = new DOMParser().parseFromString(svg, "image/svg+xml");
      const of = (text: string): Document => new DOMParser().parseFromString(text, "text/html");
      const names = (document_: Document): string[] => [...new Set([...document_.querySelectorAll("*")].map(({ localName }) => localName))];
      return { errors: xml.querySelectorAll("parsererror").length, tags: [...names(of(html)), ...names(of(code)), ...names(xml)] };
    }, forms.toSVG ?? "", forms.toHTML ?? "", forms.toEmbedCode ?? "");
    expect(errors).toBe(0);
    expect(tags).not.toContain("b");
    expect(forms.toCSV).toContain(",'=1+1");
    expect((JSON.parse(forms.toJSON ?? "") as { tokens: string[] }).tokens).toEqual(kHostile);
    await page.close();
  });

  test("the steps have pictures, and their matrices as JSON", async () => {
    const { page } = await open(browser, server.url, undefined, false);
    await page.evaluate(() => document.body.append(Object.assign(document.createElement("attention-map"), { view: "steps" })));
    await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(".result") !== null);
    expect(await made(page, "toSVG")).toContain("−1.19");
    const matrices = JSON.parse(await made(page, "toJSON")) as Record<string, number[][]>;
    expect(matrices.W_q?.[0]?.[0]).toBeCloseTo(-1.19, 6);
    await expect(made(page, "toCSV")).rejects.toThrow("export JSON");
    await page.close();
  });
});

describe("numbers", () => {
  test("CSV, JSON and NumPy's file have those of the engine, and the element reads its own again", async () => {
    const page = await drawn({ text: kText, view: "grid" });
    const [csv, json, npy] = [await made(page, "toCSV"), await made(page, "toJSON"), await bytesOf(page, "toNPY")];
    const length = seen.tokens.length;
    const expected = Array.from({ length: 32 }, (_, i) => [...seen.map(i >> 3, i & 7).data]).flat();
    for (const [name, text] of [["a.csv", csv], ["a.json", json]] as const) {
      const { weights, tokens } = await readMaps(new TextEncoder().encode(text), name);
      const { data, shape } = weights as { data: Float32Array; shape: number[] };
      expect(shape, name).toEqual([4, 8, length, length]);
      // CSV has no masked cells, which are not known when it is read again.
      expect(Array.from(data, (value) => (name === "a.csv" && Number.isNaN(value) ? 0 : value)), name).toEqual(expected);
      expect(tokens, name).toEqual(seen.tokens);
    }
    writeFileSync(join(kFolder, "a.npy"), npy);
    const script = "import numpy, sys, json; a = numpy.load(sys.argv[1]); print(json.dumps([str(a.dtype), a.shape, a.ravel().tolist()]))";
    const { stdout, stderr } = spawnSync("/usr/bin/python3", ["-c", script, join(kFolder, "a.npy")], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(["float32", [4, 8, length, length], expected]);
    await page.close();
  });

  test.each(["gpt_neo", "gemma3"])("%s: what lies before a layer's window is masked, and the numbers read back", async (name) => {
    const folder = `tests/golden/models/${name}`;
    const model = await engine.loadModel(pathToFileURL(`${root}${folder}/`));
    const text = "the cat sat at the cat", local = model.attend(text), length = local.tokens.length, { windows } = model.info;
    const cells = Array.from({ length: length ** 2 }, (_, i) => [Math.floor(i / length), i % length] as const);
    const layers = [windows.indexOf(0), windows.findIndex((window) => window > 0)];
    for (const layer of layers) {
      const page = await drawn({ model: `${server.url}${folder}`, text, view: "map", layer, head: 1 });
      const window = windows[layer] as number;
      const isSeen = cells.map(([query, key]) => key <= query && (window === 0 || key > query - window));
      expect((await shownColors(page, length)).map((color) => color[3] !== 0), `layer ${layer}`).toEqual(isSeen);
      for (const [form, file] of [["toCSV", "a.csv"], ["toJSON", "a.json"]] as const) {
        const { weights } = await readMaps(new TextEncoder().encode(await made(page, form)), file);
        const data = Array.from((weights as { data: Float32Array }).data, (value) => (Number.isNaN(value) ? 0 : value));
        expect(data, `${layer}: ${form}`).toEqual([...local.map(layer, 1).data]);
      }
      await page.close();
    }
    model.dispose();
  });

  test("one head, NaN, infinities and a mask of its own", async () => {
    const page = await drawn({ weights: [[0.25, 0.75], [0.5, 0.5]], mask: [[1, 0], [1, 1]], view: "map" });
    expect(JSON.parse(await made(page, "toJSON"))).toMatchObject({ causal: true, layers: [0], heads: [0], weights: [[[[0.25, 0], [0.5, 0.5]]]] });
    expect((await made(page, "toCSV")).trim().split("\n")).toHaveLength(4);
    await page.evaluate(async () => {
      const element = document.querySelector("attention-map") as AttentionMap;
      const done = new Promise((resolve) => element.addEventListener("attention-draw", resolve, { once: true }));
      Object.assign(element, { weights: { data: [NaN, Infinity, 0, 1], shape: [2, 2] }, mask: [[1, 1], [0, 1]] });
      await done;
    });
    expect(JSON.parse(await made(page, "toJSON"))).toMatchObject({ mask: [[1, 1], [0, 1]], weights: [[[[null, null], [0, 1]]]] });
    expect((await bytesOf(page, "toNPY")).readFloatLE(128 + 4)).toBe(Infinity);
    await page.close();
  });

  test("what is too large or cannot be said is refused in words", async () => {
    const page = await drawn({ weights: { data: Array(4), shape: [1, 2, 2] }, view: "grid" });
    const refusal = (properties: string): Promise<string> => page.evaluate(async (code) => {
      const element = document.querySelector("attention-map") as AttentionMap;
      const done = new Promise((resolve) => element.addEventListener("attention-draw", resolve, { once: true }));
      const large = { data: new Float32Array(2001 * 2000), shape: [2001, 2000] };
      const ragged = [{ data: new Float32Array(4), shape: [1, 2, 2] }, { data: new Float32Array(8), shape: [2, 2, 2] }];
      Object.assign(element, { weights: code === "large" ? large : ragged });
      await done;
      return element.toNPY().then(() => "", (error: unknown) => String(error));
    }, properties);
    expect(await refusal("ragged")).toContain("layers differ in their numbers of heads");
    expect(await refusal("large")).toContain("4,002,000 cells (16,008,000 bytes as .npy), and exports take up to 4,000,000");
    await page.close();
  });
});

describe("pages", () => {
  test("a page opens offline, with the same numbers", async () => {
    const page = await drawn({ text: kText, view: "map", layer: 3, head: 2 });
    const [html, json] = [await made(page, "toHTML"), await made(page, "toJSON")];
    const path = join(kFolder, "page.html");
    writeFileSync(path, html);
    const { page: offline, faults } = await open(browser, pathToFileURL(path).href, undefined, false);
    await holds(offline, () => (document.querySelector("attention-map")?.shadowRoot?.querySelector(".cells canvas") ?? null) !== null);
    const { weights } = JSON.parse(json) as { weights: unknown };
    expect((JSON.parse(await made(offline, "toJSON")) as { weights: unknown }).weights).toEqual(weights);
    expect(await made(offline, "toHTML")).toContain("<attention-map"); // the script in the page can be taken along once more
    expect(faults).toEqual([]);
    await Promise.all([page.close(), offline.close()]);
  });

  test.each([
    { text: kText, view: "map", layer: 2, head: 4, scale: "row" },
    { text: kText, view: "map", layer: 1, head: 2, model: "tiny-bert" },
    { weights: [[[0.25, 0.75], [0.5, 0.5]]], tokens: ["a", "<b>"], view: "map" },
  ])("the lines to embed show the same: %j", async (properties) => {
    const page = await drawn(properties);
    const [code, json] = [await made(page, "toEmbedCode"), await made(page, "toJSON")];
    expect(code).toContain(`${server.url}dist/element.js`);
    const other = await serve(root, (path, response) => {
      response.removeHeader("content-security-policy");
      response.setHeader("access-control-allow-origin", "*");
      if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
      if (path === "/") response.writeHead(200, { "content-type": "text/html" });
      if (path === "/") response.end(`<!doctype html>${code.replace(server.url, other.url)}`);
      return path === "/";
    });
    const { page: embedded, faults } = await open(browser, other.url, undefined, false);
    await holds(embedded, () =>
      (document.querySelector("attention-map")?.shadowRoot?.querySelector(".cells canvas") ?? null) !== null);
    const of = (text: string): unknown => (JSON.parse(text) as { weights: unknown }).weights;
    expect(of(await made(embedded, "toJSON"))).toEqual(of(json));
    expect(faults).toEqual([]);
    await Promise.all([page.close(), embedded.close()]);
    await other.close();
  });

  test("a file's relative address is whole in the lines to embed", async () => {
    const page = await drawn({ src: "given.json" });
    expect(await made(page, "toEmbedCode")).toContain(`src="${server.url}given.json"`);
    await page.close();
  });

  test("the menu saves a file, copies the lines, and says what went wrong", async () => {
    const page = await drawn({ text: kText, view: "map", layer: 3, head: 2 });
    await page.click("attention-map >>> .export summary");
    await (await visible(page, "attention-map >>> .export button ::-p-text(copy embed code)")).click();
    await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector("textarea") !== null);
    const client = await page.createCDPSession();
    await client.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: kFolder, eventsEnabled: true });
    const saved = new Promise((resolve) => client.on("Browser.downloadProgress", ({ state }) => state === "completed" && resolve(true)));
    await page.click("attention-map >>> .export button ::-p-text(NumPy)");
    expect(await saved).toBe(true);
    await page.close();
  });
});
