// SPDX-License-Identifier: Apache-2.0
/** The book as a site: its links, its weight, its looks without scripts and on paper, and its lessons in foreign pages. */
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import type { Browser, HTTPResponse, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { kBook } from "../../../web/learn/book.js";
import { kSteps, paletteOf } from "../../../web/maps/palette.js";
import { readState } from "../../../web/state/state.js";
import { serve, type Server } from "../../wasm/server.js";
import { axe, drawn, holds, launchShell, open, phone, root, servePackage, servePlayground, type Served } from "../browser.js";

const kChapters = kBook.filter(({ lessons }) => Object.keys(lessons).length > 0).map(({ name }) => name);
const kPages = ["", "learn/", "learn/rows/", "bench/", ...kChapters.map((name) => `learn/${name}/`)];

/** The most that a chapter may weigh, without the engine and the models, which all pages share (bytes, Brotli). */
const kMostBytes = 100_000;

let browser: Browser;
let site: Served;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchShell(), servePlayground()]);
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Scrolls to each lesson until it is alive. */
async function enliven(page: Page): Promise<void> {
  const lessons = await page.$$("attention-lesson");
  for (const [index, lesson] of lessons.entries()) {
    await lesson.evaluate((element, at) => {
      element.scrollIntoView();
      element.setAttribute("data-at", String(at));
    }, index);
    await holds(page, () => {
      const next = Array.from(document.querySelectorAll("attention-lesson[data-at]")).at(-1);
      return next?.shadowRoot?.querySelector(".figure.alive") !== null && !next?.hasAttribute("aria-busy");
    });
  }
}

/** All texts of the matrices of each lesson of a page, from its shadow root or from what stands in it. */
const tablesOf = (page: Page): Promise<Record<string, string[]>> => page.evaluate(() =>
  Object.fromEntries([...document.querySelectorAll("attention-lesson")].map((lesson) => {
    const found = (lesson.shadowRoot ?? lesson).querySelectorAll<HTMLElement>("table.matrix td[data-row], .says li");
    // A table that stands for a live map is no part of the live figure.
    const cells = [...found].filter((cell) => cell.closest(".stand") === null);
    return [lesson.getAttribute("name") ?? "", cells.map((cell) => cell.querySelector("input")?.value ?? cell.textContent ?? "")];
  })));

test("all links of the site lead somewhere", async () => {
  const page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  const targets = new Map<string, Set<string>>();
  for (const path of kPages) {
    await page.goto(`${site.url}${path}`);
    const { links, ids } = await page.evaluate(() => ({
      links: [...document.querySelectorAll<HTMLAnchorElement>("a[href]")].map(({ href }) => href),
      ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
    }));
    for (const link of links) {
      const { origin, pathname, hash } = new URL(link);
      expect(origin, link).toBe(new URL(site.url).origin);
      targets.set(pathname, (targets.get(pathname) ?? new Set()).add(hash.slice(1)));
    }
    targets.set(`/${path} ids`, new Set(ids));
  }
  for (const [path, hashes] of [...targets].filter(([name]) => !name.endsWith(" ids"))) {
    expect((await fetch(new URL(path, site.url))).status, path).toBe(200);
    const ids = targets.get(`${path} ids`);
    // Explore's address holds a state, and not the name of a place.
    if (path !== "/") for (const hash of hashes) if (hash !== "") expect(ids?.has(hash), `${path}#${hash}`).toBe(true);
  }
  await page.close();
});

test("each lesson's link to Explore opens what it names, drawn and without an error", async () => {
  const links = kChapters.flatMap((chapter) => {
    const html = readFileSync(join(root, `dist/site/learn/${chapter}/index.html`), "utf8");
    return [...html.matchAll(/<a class="explore" href="[^"#]*#([^"]*)"/g)].map(([, hash = ""]) => hash.replaceAll("&amp;", "&"));
  });
  expect(links.length).toBe(kBook.reduce((sum, { lessons }) => sum + Object.keys(lessons).length, 0));
  const { page, faults } = await open(browser, site.url);
  for (const hash of links) {
    await page.evaluate((next) => { location.hash = next; }, hash);
    const named = readState(new URLSearchParams(hash));
    await expect.poll(() => page.$eval("#map", (map) => (map as AttentionMap).state), { message: hash }).toMatchObject(named);
    await drawn(page);
    const errors = await page.evaluate(() =>
      [...document.querySelectorAll("attention-map")].filter((map) => !map.hidden)
        .map((map) => map.error?.message).filter((error) => error !== undefined));
    expect(errors, hash).toEqual([]);
  }
  expect(faults).toEqual([]);
  await page.close();
});

test.each(kChapters)("the chapter %s stands without scripts, comes alive with the same numbers, asks nobody else, is light, and fits a phone and paper", async (chapter) => {
  const dead = await browser.newPage();
  await dead.setJavaScriptEnabled(false);
  await dead.goto(`${site.url}learn/${chapter}/`);
  const standing = await tablesOf(dead);
  await dead.close();

  const responses: HTTPResponse[] = [];
  const { page, faults } = await open(browser, "about:blank", { width: 1280, height: 900 }, false);
  page.on("response", (response) => responses.push(response));
  await page.goto(`${site.url}learn/${chapter}/`);
  await enliven(page);
  const alive = await tablesOf(page);
  expect(Object.keys(alive)).toEqual(Object.keys(standing));
  for (const [name, texts] of Object.entries(standing)) {
    expect(alive[name]?.length, name).toBe(texts.length);
    for (const [index, text] of texts.entries()) expectAlike(alive[name]?.[index] ?? "", text, name);
  }
  expect(await axe(page)).toEqual([]);
  // A label around two elements names the first only, which axe does not see.
  const nameless = await page.evaluate(() => [...document.querySelectorAll("attention-lesson")].flatMap((lesson) =>
    [...(lesson.shadowRoot?.querySelectorAll("input") ?? [])]
      .filter((input) => !input.labels?.length && !input.ariaLabel).map(({ name }) => `${lesson.getAttribute("name") ?? ""}: ${name}`)));
  expect(nameless).toEqual([]);
  const origins = new Set(responses.map((response) => new URL(response.url()).origin));
  expect(origins).toEqual(new Set([new URL(site.url).origin]));
  const own = responses.map((response) => new URL(response.url()).pathname).filter(isOfBook);
  const bytes = [...new Set(own)].reduce((sum, path) => sum + compressedSizeOf(path), 0);
  expect(bytes, own.join(" ")).toBeLessThanOrEqual(kMostBytes);
  await expectOnPhoneAndPaper(page);
  expect(faults).toEqual([]);
  await page.close();
});

test("a lesson comes alive in a busy page, too, which is told at once that it was far away and is near", async () => {
  const page = await browser.newPage();
  await page.evaluateOnNewDocument(() => {
    window.IntersectionObserver = class extends IntersectionObserver {
      constructor(told: IntersectionObserverCallback, options?: IntersectionObserverInit) {
        const farOf = ({ target }: IntersectionObserverEntry): IntersectionObserverEntry =>
          ({ target, isIntersecting: false }) as unknown as IntersectionObserverEntry;
        super((entries, observer) => told([...entries.map(farOf), ...entries], observer), options);
      }
    };
  });
  await page.goto(`${site.url}learn/heads/`);
  await holds(page, () => document.querySelector("attention-lesson")?.shadowRoot?.querySelector(".figure.alive") !== null, 30);
  await page.close();
});

/** Makes the page that of a phone in the dark, where it fits and can be read, and prints it without what is only for screens. */
async function expectOnPhoneAndPaper(page: Page): Promise<void> {
  await page.setViewport({ width: phone.width, height: phone.height, deviceScaleFactor: 2 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }, { name: "prefers-reduced-motion", value: "reduce" }]);
  await enliven(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(phone.width);
  expect(await axe(page)).toEqual([]);
  await page.emulateMediaType("print");
  const isShown = (selector: string): Promise<boolean> =>
    page.$eval(selector, (element) => element.getClientRects().length > 0);
  expect(await isShown("attention-lesson")).toBe(true);
  expect(await isShown("header nav")).toBe(false);
}

test("on a phone, what is wider than its place fades where it goes on, until its end is reached", async () => {
  const { page } = await open(browser, `${site.url}learn/variants/`, { ...phone, touch: true }, false);
  await enliven(page);
  const rows = await page.$$("attention-lesson >>> .scrolled");
  const wider: boolean[] = [];
  for (const row of rows) {
    const look = (end: number): Promise<{ isWider: boolean; fades: boolean }> => row.evaluate(async (one, to) => {
      one.scrollLeft = to;
      await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
      return { isWider: one.scrollWidth > one.clientWidth, fades: getComputedStyle(one).maskImage !== "none" };
    }, end);
    const { isWider, fades } = await look(0);
    expect(fades).toBe(isWider);
    expect((await look(1e6)).fades).toBe(false);
    wider.push(isWider);
  }
  expect(wider).toContain(true);
  expect(wider).toContain(false);
  expect(await page.$eval(".contents ol", (list) => getComputedStyle(list).maskImage)).toContain("gradient");
  const [left, right] = await page.$eval(".contents [aria-current]", (current) => {
    const box = current.getBoundingClientRect();
    return [box.left, box.right];
  });
  expect(left, "the current chapter is seen among all of them").toBeGreaterThan(0);
  expect(right).toBeLessThanOrEqual(phone.width);
  await page.close();
});

test.each(["learn/", "learn/rows/"])("%s fits a phone, and axe finds nothing", async (path) => {
  for (const view of [{ width: 1280, height: 900 }, { ...phone, scheme: "dark" } as const]) {
    const { page, faults } = await open(browser, `${site.url}${path}`, view, false);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(view.width);
    expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  }
});

test("each chapter has its first map as a picture, in the contents", async () => {
  const { page } = await open(browser, `${site.url}learn/`, undefined, false);
  const pictures = await page.$$eval(".chapters > li", (chapters) => chapters.map((chapter) => ({
    title: chapter.querySelector("a")?.textContent,
    size: chapter.querySelector("svg")?.getAttribute("viewBox"),
    cells: [...chapter.querySelectorAll("rect")].map((cell) =>
      ({ row: cell.y.baseVal.value, col: cell.x.baseVal.value, color: getComputedStyle(cell).fill })),
  })));
  expect(pictures.map(({ size }) => size !== undefined)).toEqual(kChapters.map(() => true));
  const masks = pictures.find(({ title }) => title === "Masks");
  expect(masks?.size).toBe("0 0 4 4");
  expect(masks?.cells.map(({ row, col }) => [row, col]), "no query sees what comes after it")
    .toEqual([[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2], [3, 0], [3, 1], [3, 2], [3, 3]]);
  const end = paletteOf("sequential", "light").bytes.subarray(4 * (kSteps - 1));
  expect(masks?.cells[0]?.color, "the first query has one key").toBe(`rgb(${end[0]}, ${end[1]}, ${end[2]})`);
  await page.close();
});

/** The engine of Node and that of the page may differ in the last digit that is printed. */
function expectAlike(alive: string, standing: string, where: string): void {
  if (alive === standing) return;
  const parts = (text: string): string[] => text.replaceAll("−", "-").split(/(-?\d+(?:\.\d+)?(?:e-?\d+)?)/);
  const [a, b] = [parts(alive), parts(standing)];
  expect(a.length, `${where}: “${alive}” and “${standing}”`).toBe(b.length);
  for (const [index, part] of b.entries()) {
    if (index % 2 === 0) expect(a[index], where).toBe(part);
    else expect(Math.abs(Number(a[index]) - Number(part)), `${where}: ${alive}`).toBeLessThanOrEqual(lastDigit(part));
  }
}

/** One unit of the last digit of a number, or a small number itself, which may be all rounding. */
function lastDigit(number: string): number {
  if (number.includes("e-")) return 1e-5;
  return 1.01 * 10 ** -(number.split(".")[1]?.length ?? 0);
}

const fileOf = (path: string): Buffer => readFileSync(join(root, "dist/site", path.endsWith("/") ? `${path}index.html` : path));

const compressedSizes = new Map<string, number>();

/** The size of a file as servers send it. Chapters share most files, and compressing one takes long. */
function compressedSizeOf(path: string): number {
  const size = compressedSizes.get(path) ?? brotliCompressSync(fileOf(path)).length;
  compressedSizes.set(path, size);
  return size;
}

/** The worker, the engine's code and the models are shared by all pages. */
const isOfBook = (path: string): boolean =>
  [".js", ".css", ".svg", ""].includes(extname(path)) && !/\/(worker|kinds|warm-up|own-engine)[^/]*$/.test(path);

test("the site works from a folder of a server", async () => {
  const server: Server = await serve(root);
  const { page, faults } = await open(browser, `${server.url}dist/site/learn/${kChapters[0] ?? ""}/`, undefined, false);
  await enliven(page);
  expect(faults).toEqual([]);
  await page.close();
  await server.close();
});

test("an address holds the state of a lesson", async () => {
  const { page } = await open(browser, `${site.url}learn/scores/#saturation&width=64`, undefined, false);
  await enliven(page);
  const width = (): Promise<string> => page.$eval("attention-lesson[name=saturation] >>> .slider b", (output) => output.textContent ?? "");
  expect(await width()).toBe("64");
  await page.focus("attention-lesson[name=saturation] >>> input[name=width]");
  await page.keyboard.press("ArrowRight");
  await holds(page, () => location.hash === "" || location.hash.endsWith("saturation"));
  expect(await width()).toBe("256");
  await page.close();
});

test("in forced colours, numbers keep their tints and the chosen option is told apart", async () => {
  const { page } = await open(browser, `${site.url}learn/heads/`, undefined, false);
  await enliven(page);
  const session = await page.createCDPSession();
  await session.send("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
  const backgrounds = (selector: string): Promise<string[]> =>
    page.$$eval(`attention-lesson >>> ${selector}`, (all) => all.map((one) => getComputedStyle(one).backgroundColor));
  expect(new Set(await backgrounds("td[class*=w]")).size).toBeGreaterThan(5);
  const [chosen] = await backgrounds(".segments label:has(:checked)");
  const [other] = await backgrounds(".segments label:not(:has(:checked))");
  expect(chosen).toBeDefined();
  expect(chosen).not.toBe(other);
  await page.close();
});

test("any page shows a lesson with one tag, and a wrong name is said", async () => {
  const served = await servePackage('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title>'
    + '<link rel="icon" href="data:,"><script type="module" src="/dist/lesson.js"></script></head>'
    + '<body><attention-lesson name="saturation" width="64"></attention-lesson><attention-lesson name="none"></attention-lesson></body></html>');
  const { page } = await open(browser, served.url, undefined, false);
  await holds(page, () =>
    document.querySelector("[name=saturation]")?.shadowRoot?.querySelector(".figure.alive") !== null);
  expect(await page.$eval("[name=saturation] >>> .slider b", (output) => output.textContent)).toBe("64");
  const said = await page.$eval("[name=none] >>> [role=alert]", (alert) => alert.textContent);
  expect(said).toContain("there is no lesson “none”");
  await page.close();
  await served.close();
});

test("each row of the tutorials has its lesson and its test", async () => {
  const rows = JSON.parse(readFileSync(join(root, "web/learn/rows.json"), "utf8")) as
    Record<string, { shows: string; lessons: string[]; tests: string[] }>;
  expect(Object.keys(rows)).toHaveLength(23);
  const taught: Record<string, string[]> = {};
  for (const [name, load] of kBook.flatMap(({ lessons }) => Object.entries(lessons)))
    for (const row of (await load()).default.teaches) (taught[row] ??= []).push(name);
  expect(Object.fromEntries(Object.entries(rows).map(([row, { lessons }]) => [row, lessons]))).toEqual(taught);
  for (const [row, { tests }] of Object.entries(rows)) {
    expect(tests.length, row).toBeGreaterThan(0);
    for (const file of tests) expect(readFileSync(join(root, file), "utf8"), `${row} in ${file}`).toContain(row);
  }
});
