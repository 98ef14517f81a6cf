// SPDX-License-Identifier: Apache-2.0
/** A page of an author who embeds each view once, with captions: its room, its looks, its parts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serve, type Server } from "../wasm/server.js";
import { axe, launchShell, open, type Opened, root, seen, type View } from "./browser.js";
import { shoot } from "./views/harness.js";

/** Views with what an author writes beside `view`. Those without a group of their own show the same text. */
const kFigures: Readonly<Record<string, string>> = {
  sentence: "",
  next: "",
  grid: "",
  map: "",
  lines: 'heads="3.4 1.2"',
  numbers: "",
  why: "",
  effect: "",
  strips: "",
  picture: 'model="tiny-vit" image="/dist/models/tiny-vit/examples/00.png" layer="1"',
  finder: "",
  composition: "",
  flow: "",
  compare: 'compare-text="The king saw the queen and he laughed."',
  decode: "",
  steps: 'head="1"',
};

const figure = ([view, more]: readonly [string, string]): string =>
  `<attention-map id="${view}" view="${view}" ${more}${/model|head="1"/.test(more) ? "" : ' group="story"'}><span slot="caption">Figure: the view <b>${view}</b>.</span></attention-map>`;

const kPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>An article</title><link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { background: light-dark(#fff, #12151b); color: light-dark(#1c2128, #e8eaee); max-width: 960px; margin: 0 auto; padding: 16px; font: 18px/1.6 Georgia, serif; }
  attention-map { margin: 32px 0; }
  [slot=caption] { font: italic 15px/1.4 Georgia, serif; }
</style>
<script type="module" src="/dist/element.js"></script></head><body><main><h1>An article</h1>
<p>Some words before the figures, as authors write them.</p>
${Object.entries(kFigures).map(figure).join("\n").replace('id="sentence"', 'id="sentence" text="The queen saw the king and she laughed." layer="3" head="4"')}
</main></body></html>`;

let browser: Browser;
let server: Server;

beforeAll(async () => {
  browser = await launchShell();
  server = await serve(root, (path, response) => {
    response.removeHeader("content-security-policy");
    return path === "/" && Boolean(response.writeHead(200, { "content-type": "text/html" }).end(kPage));
  });
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

/** Goes through the article until all of its figures are drawn. */
async function drawn(page: Page): Promise<void> {
  const failed = await page.evaluate(async () => {
    await customElements.whenDefined("attention-map");
    const messages: string[] = [];
    for (const element of document.querySelectorAll("attention-map")) {
      element.scrollIntoView();
      await element.ready();
      if (element.error) messages.push(`${element.id}: ${element.error.message}`);
    }
    scrollTo(0, 0);
    return messages;
  });
  expect(failed).toEqual([]);
}

/** The article, with all of its figures drawn, and what went wrong in it. */
async function article(view: View): Promise<Opened> {
  const opened = await open(browser, server.url, view, false);
  await drawn(opened.page);
  return opened;
}

/** Each figure with what spills out of it to a side, and those that are wider than the page. */
const spilled = (page: Page): Promise<string[]> => page.evaluate(() =>
  [...document.querySelectorAll("attention-map")].filter((element) => {
    const box = element.shadowRoot?.querySelector(".root");
    return (box?.scrollWidth ?? 9) > (box?.clientWidth ?? 0) || element.getBoundingClientRect().right > innerWidth;
  }).map(({ id }) => id));

/** Fields and choices with colours of the browser instead of the element's, and those too small for a finger. */
const strangers = (page: Page): Promise<string[]> => page.evaluate(() =>
  [...document.querySelectorAll("attention-map")].flatMap((element) => {
    const paper = document.createElement("i");
    element.shadowRoot?.querySelector(".root")?.append(paper);
    paper.style.backgroundColor = "var(--paper)";
    const own = getComputedStyle(paper).backgroundColor;
    paper.remove();
    const fields = element.shadowRoot?.querySelectorAll("select, textarea, [type=text], [type=search], .segments label") ?? [];
    return [...fields].filter((field) => {
      const { backgroundColor, accentColor } = getComputedStyle(field);
      const isStrange = !field.matches("label") && (backgroundColor !== own || accentColor === "auto");
      const { height } = field.getBoundingClientRect();
      return isStrange || (height > 0 && height < (matchMedia("(pointer: coarse)").matches ? 44 : 24));
    }).map((field) => `${element.id}: ${field.outerHTML.slice(0, 80)}`);
  }));

/** Each scheme is read by axe at one width, since widths change no colours. */
const kReadAt = { light: 390, dark: 1280 };

test.each([
  { width: 390, height: 844, touch: true }, { width: 1280, height: 900 },
])("each view once, with captions, at $width in light and dark, does not spill and is clean for axe", async (view) => {
  const { page, faults } = await article(view);
  for (const scheme of ["light", "dark"] as const) {
    if (scheme === "dark") {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }, { name: "prefers-reduced-motion", value: "reduce" }]);
      await page.waitForFunction((count) => [...document.querySelectorAll("attention-map")].filter(
        (element) => element.shadowRoot?.querySelector(".root.dark")).length === count, {}, Object.keys(kFigures).length);
      await drawn(page);
    }
    expect(await spilled(page), scheme).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), scheme).toBe(0);
    if (view.width === kReadAt[scheme]) expect(await axe(page), scheme).toEqual([]);
    expect(await strangers(page), scheme).toEqual([]);
    await shoot(page, `author-${view.width}-${scheme}`);
  }
  expect(faults).toEqual([]);
  await page.close();
});

test("the parts that the document names are those that the element renders", async () => {
  const { page, faults } = await article({ width: 1280, height: 900 });
  await seen(page, "#map >>> [part~=name]"); // names come last
  const rendered = await page.evaluate(() => [...document.querySelectorAll("attention-map")].flatMap((element) =>
    [...(element.shadowRoot?.querySelectorAll("[part]") ?? [])].flatMap((part) => [...part.part])));
  const document_ = readFileSync(join(root, "wasm/README.md"), "utf8");
  const [, table = ""] = /\| part \|[^\n]*\n\|---\|---\|\n((?:\|[^\n]*\n)+)/.exec(document_) ?? [];
  const named = [...table.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, names = ""]) => names.match(/[a-z]+/g) ?? []);
  const known = new Set([...named, ...Object.keys(kFigures)]);
  expect([...new Set(rendered)].filter((part) => !known.has(part))).toEqual([]);
  // These are seen only in other states: while something computes, fails, or is changed, zoomed or declared.
  const others = ["message", "error", "progress", "tabs", "tab", "ask", "changes", "settings", "understood", "shortened", "pin", "crosshair", "minimap"];
  expect(named.filter((part) => !rendered.includes(part) && !others.includes(part))).toEqual([]);
  expect(faults).toEqual([]);
  await page.close();
});
