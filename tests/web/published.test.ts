// SPDX-License-Identifier: Apache-2.0
/**
 * Models from Hugging Face. A server of this machine answers in its place as it does, over HTTPS and with its redirects,
 * its headers for other pages and its refusals, and has small models of the same kinds.
 */
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { load } from "headlens";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { axe, drawn, launchShell, open, phone, root, seen, servePlayground, texts, type Served, type View } from "./browser.js";

/** The small models by the names of those in whose place they stand. */
const kModels: Readonly<Record<string, string>> = {
  "openai-community/gpt2": "tests/golden/models/gpt2",
  "distilbert/distilgpt2": "tests/golden/models/gpt2_f16_bare",
  "HuggingFaceTB/SmolLM2-135M": "tests/golden/models/llama",
  "EleutherAI/pythia-70m": "tests/golden/models/gpt_neox",
  "google-bert/bert-base-uncased": "tests/golden/models/bert",
  "google-t5/t5-small": "web/models/tiny-translator",
  "google/vit-base-patch16-224": "tests/golden/models/vit",
  "facebook/dinov2-small": "tests/golden/models/dinov2",
};
const kHub = "https://huggingface.co/";
const kFilesHost = "cas-bridge.xethub.hf.co";

const fileOf = (model: string, name: string): string => join(root, kModels[model] ?? "none", name);

/** The server does not answer while it is gone, asks to come later while it is busy, and has another model in the place of GPT-2 once that has changed. */
let state: "there" | "gone" | "busy" | "changed" = "there";

/** Weights lie on another host, pages may not be read by other pages, and a model that is not there is one that nobody may read. */
function answer({ headers, url = "" }: IncomingMessage, response: ServerResponse): void {
  if (state === "gone") return void response.destroy();
  const { hostname, pathname } = new URL(url, `https://${headers.host ?? ""}`);
  const isWeights = hostname === kFilesHost;
  const [, model = "", name = ""] = (isWeights ? /^\/(.+)\/([^/]+)$/ : /^\/(.+)\/resolve\/main\/([^/]+)$/).exec(pathname) ?? [];
  if (name === "") return void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>A page</title>");
  response.setHeader("access-control-allow-origin", headers.origin ?? "*");
  response.setHeader("access-control-expose-headers", "etag");
  if (state === "busy") return void response.writeHead(503).end();
  if (!(model in kModels)) return void response.writeHead(401).end("Invalid username or password.");
  const file = fileOf(state === "changed" ? "distilbert/distilgpt2" : model, name);
  if (!existsSync(file)) return void response.writeHead(404).end("Entry not found");
  if (name.endsWith(".safetensors") && !isWeights) return void response.writeHead(302, { location: `https://${kFilesHost}/${model}/${name}` }).end();
  response.writeHead(200, { "content-length": statSync(file).size, etag: `"${file}"` });
  createReadStream(file).pipe(response);
}

let folder: string;
let hub: Server;
let browser: Browser;
let site: Served;
let faults: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "headlens-published-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=huggingface.co",
    "-keyout", key, "-out", cert], { stdio: "ignore" });
  hub = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  await new Promise<void>((listening) => hub.listen(0, "127.0.0.1", listening));
  const { port } = hub.address() as AddressInfo;
  const rules = ["huggingface.co", kFilesHost].map((host) => `MAP ${host} 127.0.0.1:${port}`).join(", ");
  const args = ["--ignore-certificate-errors", `--host-resolver-rules=${rules}`];
  [browser, site] = await Promise.all([launchShell({ args }), servePlayground()]);
});
afterAll(async () => {
  await browser.close();
  await site.close();
  hub.closeAllConnections();
  hub.close();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  state = "there";
  for (const page of await browser.pages()) if (page.url().startsWith(site.url)) await page.close();
  expect(faults.splice(0)).toEqual([]);
});

async function openPage(hash = "", view?: View): Promise<Page> {
  const opened = await open(browser, site.url + hash, view);
  faults = opened.faults;
  return opened.page;
}

const modelOf = (page: Page): Promise<string> => page.$eval("#map", (map) => (map as AttentionMap).model);
const chosen = (page: Page): Promise<string | undefined> =>
  page.$eval("#model", (select) => (select as HTMLSelectElement).selectedOptions[0]?.text);
const said = async (page: Page): Promise<string> => (await texts(page, "#note")).join();

/** Faults but for those of files that a folder need not have: the browser tells of them, and leaves answers unread. */
const others = (): string[] =>
  faults.splice(0).filter((fault) => !/^request: .*\.(json|safetensors)$|status of 404/.test(fault));

/** Waits until the model at an address is open and drawn, and the menu names it. */
async function hasOpened(page: Page, name: string, address = kHub + name): Promise<void> {
  await expect.poll(() => modelOf(page), { timeout: 20_000, message: name }).toBe(address);
  await drawn(page);
  expect(await texts(page, "[role=alert]"), name).toEqual([]);
  expect(await page.$eval("#published", (form) => (form as HTMLElement).hidden)).toBe(true);
}

test("each model of the list opens by a click with all of its heads, and an address keeps it", async () => {
  const page = await openPage();
  const engine = await load();
  await page.select("#model", "published");
  await seen(page, "#published li");
  const names = await texts(page, "#published li b");
  expect(names).toEqual(Object.keys(kModels).sort((a, b) => names.indexOf(a) - names.indexOf(b)));
  for (const name of names) {
    await page.select("#model", "published");
    await seen(page, "#published li");
    await page.click(`#published ::-p-text(${name})`);
    await hasOpened(page, name);
    expect(await chosen(page)).toBe(name);
    const model = await engine.loadModel(pathToFileURL(fileOf(name, "")));
    const { layers, heads } = model.info;
    await expect.poll(() => page.$$eval("#grid >>> .thumb", (all) => all.length), { message: name }).toBe(layers * heads);
    model.dispose();
  }
  engine.dispose();
  await expect.poll(() => page.url()).toContain(`model=${encodeURIComponent(kHub + (names.at(-1) ?? ""))}`);
  expect(others()).toEqual([]);
  const again = await openPage(new URL(page.url()).hash);
  await hasOpened(again, names.at(-1) ?? "");
  expect(others()).toEqual([]);
});

test("the page of a model opens its files, of which the numbers are those of the engine", async () => {
  const page = await openPage();
  await page.select("#model", "published");
  await seen(page, "#published input");
  await page.type("#published input", "huggingface.co/openai-community/gpt2/tree/main");
  await page.keyboard.press("Enter");
  await hasOpened(page, "gpt2", `${kHub}openai-community/gpt2/tree/main`);
  const engine = await load();
  const model = await engine.loadModel(pathToFileURL(fileOf("openai-community/gpt2", "")));
  const text = await page.$eval("#map", (map) => (map as AttentionMap).text);
  const expected = model.attend(text).map(0, 1);
  const shown = await page.$eval("#map", async (map) => {
    const { shape, data } = await (map as AttentionMap).getMap(0, 1);
    return { shape: [...shape], data: Array.from(data) };
  });
  expect(shown.shape).toEqual([...expected.shape]);
  for (const [index, value] of shown.data.entries()) expect(value).toBeCloseTo(expected.data[index] ?? NaN, 5);
  engine.dispose();
  expect(others()).toEqual([]);
});

test("a model is kept: it opens without its server, is fetched again once it has changed, and can be forgotten", async () => {
  const name = "openai-community/gpt2";
  const mapAt = async (now: typeof state): Promise<number[]> => {
    state = now;
    const page = await openPage(`#model=${encodeURIComponent(kHub + name)}&text=The+cat+sat`);
    await hasOpened(page, name);
    const data = await page.$eval("#map", async (map) => Array.from((await (map as AttentionMap).getMap(0, 0)).data));
    // Files are kept while they are read, which may end later.
    const keptFiles = (): Promise<string[]> => page.evaluate(async () =>
      (await (await caches.open("headlens-models")).keys()).map(({ url }) => url));
    await expect.poll(async () => (await keptFiles()).filter((url) => url.startsWith(`${kHub}${name}/`)).length)
      .toBeGreaterThan(now === "changed" ? 4 : 2);
    await page.close();
    return data;
  };
  const first = await mapAt("there");
  expect(others()).toEqual([]);
  expect(await mapAt("gone")).toEqual(first);
  // The browser tells of what it could not ask.
  expect(others().filter((fault) => !fault.includes("net::ERR"))).toEqual([]);
  expect(await mapAt("busy")).toEqual(first);
  expect(others().filter((fault) => !fault.includes("status of 503"))).toEqual([]);
  expect(await mapAt("changed")).not.toEqual(first);
  expect(await mapAt("there")).toEqual(first);

  const page = await openPage();
  const sizes = async (): Promise<string[]> => (await texts(page, "#published li")).filter((one) => one.startsWith(name));
  await page.select("#model", "published");
  await seen(page, "#published .kept");
  expect((await texts(page, "#published .kept p")).join()).toContain(name);
  expect((await sizes()).join()).toContain("12 × 12 heads, kept here");
  await page.click("#published .kept button");
  await expect.poll(async () => (await sizes()).join()).toContain("12 × 12 heads, 550 MB");
  expect(await page.evaluate(() => caches.has("headlens-models"))).toBe(false);
  expect(await page.$("#published .kept")).toBeNull();
  expect(others()).toEqual([]);
});

test("a name that is wrong is said, and can be mended; Escape closes, and the model stays", async () => {
  const page = await openPage();
  await page.select("#model", "published");
  expect(await chosen(page)).toBe("tiny: continues English");
  await seen(page, "#published input");
  await page.type("#published input", "openai-community/gpt-2");
  await page.keyboard.press("Enter");
  await expect.poll(() => said(page))
    .toBe("openai-community/gpt-2 cannot be read: there is no such model, or not everybody may read it.");
  expect(await page.evaluate(() => document.activeElement?.matches("#published input"))).toBe(true);
  await page.keyboard.press("End");
  for (const key of ["Backspace", "Backspace", "2", "Enter"] as const) await page.keyboard.press(key);
  await hasOpened(page, "openai-community/gpt2");
  await page.select("#model", "published");
  await seen(page, "#published input");
  await page.keyboard.press("Escape");
  expect(await page.$eval("#published", (form) => (form as HTMLElement).hidden)).toBe(true);
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("model");
  expect(await modelOf(page)).toBe(`${kHub}openai-community/gpt2`);
  expect(others().filter((fault) => !fault.includes("status of 401"))).toEqual([]);
});

test.each([["desktop", { width: 1280, height: 900 }], ["phone", { ...phone, scheme: "dark", touch: true }]] as const)(
  "on a %s the list does not spill, and axe finds nothing", async (_, view) => {
    const page = await openPage("", view);
    await page.select("#model", "published");
    await seen(page, "#published li");
    expect(await axe(page, { within: "#published" })).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    const small = await page.$$eval("#published :is(button, input)", (all) => all.map((one) => one.getBoundingClientRect())
      .filter(({ height, right }) => height < (matchMedia("(pointer: coarse)").matches ? 44 : 24) || right > innerWidth).length);
    expect(small).toBe(0);
  });
