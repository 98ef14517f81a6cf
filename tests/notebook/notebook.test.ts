// SPDX-License-Identifier: Apache-2.0
/**
 * The lines of web/notebook.md in Jupyter Notebook, with a server, a kernel and a browser as users have them. Each test
 * goes on with the notebook that the one before has left.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Frame, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { paletteOf, type Theme } from "../../web/maps/palette.js";
import { cellColors, launchShell, open, root, seen } from "../web/browser.js";
import { environmentOf, kPython, startNotebooks, type Notebooks } from "./server.js";

const kText = readFileSync(join(root, "web/notebook.md"), "utf8");
const kShown = [...kText.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = ""]) => code);
/** The map that the last of these lines shows: head 1, whose second key is hidden from the first query. */
const kShownWeights = [[1, undefined], [0.5, 0.5]];

/** Text that could end a string, an attribute, a comment or a script on its way from Python into the page. */
const kHostile = [
  '</script><script>document.title = "script"</script>',
  "\"'><img src=x onerror=\"document.title = 'image'\">",
  "<!--<script>",
  "&quot;&lt;\\u003c{0}\u2028\r\n",
];
/** A view that is not contiguous, of numbers of another type. */
const kHostileCell = `tokens = np.array(${JSON.stringify(kHostile)})
attention_map(np.arange(16).reshape(4, 4).T / 16, "map", tokens=tokens)`;
const kHostileWeights = [0, 1, 2, 3].map((row) => [0, 1, 2, 3].map((col) => (row + 4 * col) / 16));
const kLayersCell = 'attention_map(np.full((3, 2, 4, 5), 0.25, "float16"))';

let folder = "";
let browser: Browser | undefined;
let notebooks: Notebooks | undefined;
let faults: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "headlens-notebook-"));
  copyFileSync(join(root, "dist/headlens.arrays.js"), join(folder, "headlens.arrays.js"));
  const cells = [...kShown, kHostileCell, kLayersCell].map((source) => (
    { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source }
  ));
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3" } };
  writeFileSync(join(folder, "maps.ipynb"), JSON.stringify({ nbformat: 4, nbformat_minor: 2, metadata, cells }));
  notebooks = await startNotebooks(folder);
  // No other host has an address, so that a request to one fails and is told.
  const args = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  browser = await launchShell({ args });
});

afterAll(async () => {
  await browser?.close();
  await notebooks?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** Jupyter asks for its widgets, which are not installed here, and says on the console what else it misses. */
const isJupyters = (fault: string): boolean => /^console: |\/nbextensions\/widgets\//.test(fault);

afterEach(() => {
  expect(faults.splice(0).filter((fault) => !isJupyters(fault))).toEqual([]);
});

async function openPage(url: string): Promise<Page> {
  if (!browser) throw new Error("there is no browser");
  const opened = await open(browser, url, undefined, false);
  faults = opened.faults;
  return opened.page;
}

/** Opens a notebook, whose kernel is then ready. */
async function openNotebook(name: string): Promise<Page> {
  const page = await openPage(notebooks?.url(name) ?? "");
  await seen(page, "#kernel_indicator_icon.kernel_idle_icon");
  return page;
}

async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.click(menu);
  await (await seen(page, item)).click();
}

/** The colours of weights on the fixed scale, whose steps follow their square root. Masked cells are transparent. */
function colorsOf(weights: readonly (readonly (number | undefined)[])[], theme: Theme): number[][][] {
  const { bytes } = paletteOf("sequential", theme);
  const colorOf = (weight: number | undefined): number[] => {
    const step = 4 * Math.round(255 * Math.sqrt(weight ?? 0));
    return weight === undefined ? [0, 0, 0, 0] : [...bytes.subarray(step, step + 4)];
  };
  return weights.map((row) => row.map(colorOf));
}

/** The time that a figure may take on a machine whose processor other tests use, too. */
const kPoll = { timeout: 90_000, interval: 100 };

/**
 * The documents in a page's frames, which draw when they are seen. It asks for the map again and again, since Puppeteer's
 * own waiting looks again when the frame's document changes, and is not told of changes in a shadow root.
 */
async function figuresOf(page: Page): Promise<Frame[]> {
  await seen(page, "iframe[srcdoc]");
  const figures: Frame[] = [];
  for (const place of await page.$$("iframe[srcdoc]")) {
    await place.scrollIntoView();
    const frame = await place.contentFrame();
    const drawn = async (): Promise<boolean> => (await frame.$("attention-map >>> canvas")) !== null;
    await expect.poll(drawn, { ...kPoll, message: `figure ${figures.length} is drawn` }).toBe(true);
    figures.push(frame);
  }
  return figures;
}

/** Checks that a page shows the figures of all cells as they are, and nothing else of them. */
async function checkFigures(page: Page, theme: Theme): Promise<void> {
  const title = await page.title();
  const figures = await figuresOf(page);
  expect(figures).toHaveLength(3);
  const [shown, hostile, layers] = figures as [Frame, Frame, Frame];
  await expect.poll(() => cellColors(shown, "attention-map", 2, 2), kPoll).toEqual(colorsOf(kShownWeights, theme));
  await expect.poll(() => cellColors(hostile, "attention-map", 4, 4), kPoll).toEqual(colorsOf(kHostileWeights, theme));
  await expect.poll(async () => (await layers.$$("attention-map >>> .thumb:not(.unknown)")).length, kPoll).toBe(6);
  const json = await hostile.$eval("attention-map", (map) => map.toJSON());
  expect(JSON.parse(json)).toMatchObject({ tokens: kHostile, weights: [[kHostileWeights]] });
  expect(await hostile.$$("attention-map >>> img, img")).toEqual([]);
  expect([await page.title(), await hostile.title()]).toEqual([title, ""]);
  for (const figure of figures)
    await expect.poll(() => figure.evaluate(cutOff), { ...kPoll, message: "what lies outside of the frame" }).toEqual([0, 0]);
}

/** The part of a frame's document, in pixels, that is not seen without scrolling. */
function cutOff(): [number, number] {
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
  return [scrollWidth - clientWidth, scrollHeight - clientHeight];
}

test("cells that a kernel runs show their arrays", async () => {
  const page = await openNotebook("maps.ipynb");
  await choose(page, "#celllink", "#run_all_cells");
  await page.waitForFunction(() => document.querySelectorAll("iframe[srcdoc]").length === 3);
  await checkFigures(page, "light");
  const saved = page.waitForResponse((response) => response.request().method() === "PUT" && response.ok());
  await choose(page, "#filelink", "#save_checkpoint");
  await saved;
  await page.close();
});

test("a notebook that was saved shows them when it is opened again", async () => {
  const page = await openNotebook("maps.ipynb");
  await checkFigures(page, "light");
  await page.close();
});

test("a notebook from elsewhere shows them once it is trusted", async () => {
  const saved = JSON.parse(readFileSync(join(folder, "maps.ipynb"), "utf8")) as { metadata: object };
  writeFileSync(join(folder, "sent.ipynb"), JSON.stringify({ ...saved, metadata: { ...saved.metadata, sent: true } }));
  const page = await openNotebook("sent.ipynb");
  await seen(page, "#notification_trusted ::-p-text(Not Trusted)");
  expect(await page.$$("iframe, attention-map")).toEqual([]);
  const again = page.waitForNavigation();
  await choose(page, "#filelink", "#trust_notebook");
  await (await seen(page, ".modal-footer .btn-danger")).click();
  await again;
  await checkFigures(page, "light");
  await page.close();
});

test.each(["light", "dark"] as const)("an exported page shows them: %s", async (theme) => {
  const args = ["-m", "nbconvert", "--to", "html", `--HTMLExporter.theme=${theme}`, "--output", `${theme}.html`, "maps.ipynb"];
  const { status, stderr } = spawnSync(kPython, args, { cwd: folder, env: environmentOf(folder), encoding: "utf8" });
  expect(status, stderr).toBe(0);
  const page = await openPage(pathToFileURL(join(folder, `${theme}.html`)).href);
  await checkFigures(page, theme);
  await page.close();
});
