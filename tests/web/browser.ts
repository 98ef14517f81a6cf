// SPDX-License-Identifier: Apache-2.0
/** Real browsers that open the built page and report everything that must not happen in it. */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "puppeteer-core";
import type { Browser, ElementHandle, Frame, LaunchOptions, Page } from "puppeteer-core";
import { preview } from "vite";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** An address, and a function that stops serving it. */
export interface Served {
  url: string;
  close(this: void): Promise<void>;
}

/** Serves the playground as `vite preview` does: dist/site with the policy in its headers. */
export async function servePlayground(): Promise<Served> {
  if (!existsSync(join(root, "dist/site/index.html")))
    throw new Error("dist/site is missing: npm run build");
  const configFile = join(root, "vite.config.ts");
  const server = await preview({ configFile, logLevel: "error", preview: { port: 0, host: "127.0.0.1" } });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("the preview server has no port");
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}

const types: Record<string, string> = {
  ".js": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/**
 * Serves dist/ under /dist/ and the given page at /, and never answers under /never/. All have a policy without eval,
 * inline scripts or inline styles.
 */
export async function servePackage(html: string): Promise<Served> {
  const policy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; connect-src 'self'";
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const headers = { "Content-Security-Policy": policy };
    if (pathname.startsWith("/never/")) return undefined;
    if (pathname === "/") return response.writeHead(200, { ...headers, "Content-Type": "text/html" }).end(html);
    const type = types[extname(pathname)] ?? "application/octet-stream";
    readFile(join(root, normalize(pathname))).then(
      (bytes) => response.writeHead(200, { ...headers, "Content-Type": type }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

export const chromiumPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const firefoxPath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

/** Chromium without windows and tabs, where it is installed: tests take a quarter less time. */
const kShell = "/usr/bin/chromium-headless-shell";
const shellPath = process.env.CHROMIUM ?? (existsSync(kShell) ? kShell : chromiumPath);

// The sandbox is off, since tests also run as root in containers.
const kArgs = ["--no-sandbox", "--disable-dev-shm-usage"];

/** Launches Chromium as readers have it. */
export function launchChromium({ args = [], ...options }: LaunchOptions = {}): Promise<Browser> {
  return launch({ executablePath: chromiumPath, args: [...kArgs, ...args], ...options });
}

/** Launches Chromium without its windows and tabs. */
export function launchShell(options: LaunchOptions = {}): Promise<Browser> {
  return launchChromium({ executablePath: shellPath, headless: "shell", ...options });
}

/** Launches Firefox, which draws 20 frames a second: without a GPU, it would spend more time on frames than on pages. */
export function launchFirefox({ extraPrefsFirefox, ...options }: LaunchOptions = {}): Promise<Browser> {
  const prefs = { "layout.frame_rate": 20, ...extraPrefsFirefox };
  return launch({ browser: "firefox", executablePath: firefoxPath, extraPrefsFirefox: prefs, ...options });
}

/** A page and its faults: console errors, exceptions, failed requests and breaches of the policy. */
export interface Opened {
  page: Page;
  faults: string[];
}

export interface View {
  width: number;
  height: number;
  scheme?: "light" | "dark";
  scale?: number;
  touch?: boolean;
}

export const desktop: View = { width: 1440, height: 900 };
export const phone: View = { width: 360, height: 740, scale: 2 };

/** Opens a page with clean storage. With `ready` false it does not wait for the first maps. */
export async function open(browser: Browser, url: string, view: View = desktop, ready = true): Promise<Opened> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${String(error)}`));
  page.on("requestfailed", (request) => faults.push(`request: ${request.url()}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const { width, height, scale = 1, touch = false } = view;
  await page.setViewport({ width, height, deviceScaleFactor: scale, hasTouch: touch });
  // Smooth scrolling is off, or elements would still move while the pointer goes to them.
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: view.scheme ?? "light" },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.evaluateOnNewDocument(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sample}`);
    });
  });
  await page.goto(url);
  if (ready) await drawn(page);
  return { page, faults };
}

/**
 * Waits until `condition` holds in the page. It asks from outside, since in some versions of Firefox a strict policy
 * blocks Puppeteer's own waiting.
 */
export async function holds(page: Page, condition: () => boolean, seconds = 90): Promise<void> {
  const end = Date.now() + seconds * 1000;  // long, since other tests may use the processor
  while (!(await page.evaluate(condition))) {
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Opens a page of Firefox and waits until `condition` holds in it. If it does not, closes it and opens it again, at most
 * twice.
 * Under automation, about one page in forty whose worker starts a worker never becomes ready, also with a page of ten
 * lines without headlens (Firefox 153 ESR). Without automation, none of 400 failed.
 */
export async function firefoxPage<T extends { page: Page; close?: () => Promise<void> }>(
  open: () => Promise<T>, condition: () => boolean,
): Promise<T> {
  for (let left = 2; ; --left) {
    const opened = await open();
    try {
      await holds(opened.page, condition, left > 0 ? 10 : 90);
      return opened;
    } catch (error) {
      if (left === 0) throw error;
      await (opened.close?.() ?? opened.page.close());
    }
  }
}

/** A condition in the page: the maps of the last input have been drawn. */
export const isDrawn = (): boolean => document.documentElement.dataset.state === "drawn";

/** Waits until the maps of the last input have been drawn. */
export async function drawn(page: Page): Promise<void> {
  await holds(page, isDrawn);
}

/**
 * Waits until a selector finds a visible element. It asks in every frame, since changes in a shadow root are not
 * reported.
 */
export async function seen(page: Page, selector: string): Promise<ElementHandle> {
  const found = await page.waitForSelector(selector, { visible: true });
  if (!found) throw new Error(`${selector} is not there`);
  return found;
}

/** Opens the field in which the playground's text is edited, and puts the caret into it. */
export async function editText(page: Page): Promise<void> {
  await holds(page, () => {
    const root = document.querySelector("#sentence")?.shadowRoot;
    const area = root?.querySelector("textarea");
    if (!area) root?.querySelector<HTMLElement>(".sentence-edit")?.click();
    area?.focus();
    return area !== null && area !== undefined;
  });
}

/** Replaces the playground's text, as pasting does, and waits for its maps. */
export async function setText(page: Page, text: string): Promise<void> {
  await editText(page);
  await page.evaluate((value) => {
    const area = document.querySelector("#sentence")?.shadowRoot?.querySelector("textarea");
    if (!area) throw new Error("the text cannot be edited");
    area.value = value;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }, text);
  await drawn(page);
}

/** The tokens of the sentence as they are shown. */
export function shownTokens(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = document.querySelector("#sentence")?.shadowRoot?.querySelectorAll(".sentence-token") ?? [];
    return [...found].map((token) => token.textContent ?? "");
  });
}

/** The text of everything that a selector finds in the page and its shadow roots, without space around it. */
export function texts(page: Page, selector: string): Promise<string[]> {
  return page.$$eval(`>>> ${selector}`, (found) => found.map((element) => (element.textContent ?? "").trim()));
}

/** The colours [row][col] in the middle of each cell of the head that the element `map` shows large, as RGBA. */
export function cellColors(page: Page | Frame, map: string, rows: number, cols: number): Promise<number[][][]> {
  return page.$eval(
    `${map} >>> .cells > canvas`,
    (canvas, [height, width]) => {
      const context = canvas.getContext("2d");
      const at = (index: number, count: number, length: number): number => Math.floor(((index + 0.5) / count) * length);
      const color = (row: number, col: number): number[] => [
        ...(context?.getImageData(at(col, width, canvas.width), at(row, height, canvas.height), 1, 1).data ?? []),
      ];
      return Array.from({ length: height }, (_, row) => Array.from({ length: width }, (__, col) => color(row, col)));
    },
    [rows, cols] as const,
  );
}

interface Pixels { width: number; height: number; data: number[] }

/** The pixels (RGBA) of the small map of each head that an element shows. Those of a layer lie on one canvas. */
export async function smallMaps(page: Page, element: string): Promise<Pixels[]> {
  const maps = await page.$$eval(`${element} >>> .thumb`, (found) => found.map((thumb) => {
    const canvas = thumb.closest(".line")?.querySelector("canvas");
    const [inner, outer] = [thumb.getBoundingClientRect(), canvas?.getBoundingClientRect() ?? new DOMRect()];
    const pixels = (length: number): number => Math.round((length * (canvas?.width ?? 0)) / outer.width);
    const [width, height] = [pixels(inner.width), pixels(inner.height)];
    const image = canvas?.getContext("2d")?.getImageData(pixels(inner.x - outer.x), pixels(inner.y - outer.y), width, height);
    // As text, which comes from Firefox many times faster than numbers.
    return { width, height, data: Array.from(image?.data ?? [], (byte) => byte.toString(16).padStart(2, "0")).join("") };
  }));
  return maps.map((map) => ({ ...map, data: [...Buffer.from(map.data, "hex")] }));
}

/** Runs axe on the whole page with its shadow roots, or within one element, and returns its findings in words. */
export async function axe(page: Page, { within }: { within?: string } = {}): Promise<string[]> {
  // The debugger is used because the page's policy does not apply to it.
  if (!(await page.evaluate(() => "axe" in globalThis)))
    await page.evaluate(await readFile(join(root, "node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async (selector) => {
    const { axe } = globalThis as unknown as { axe: typeof import("axe-core") };
    const part = selector === null ? document : document.querySelector(selector);
    if (!part) throw new Error(`there is no ${selector}`);
    // Addresses of all that passes would take axe longer than its rules.
    // Only its rules about pages that are locked to one orientation and about sounds that start alone read files again.
    const options = { resultTypes: ["violations" as const], preload: false };
    const { violations } = await axe.run(part, options);
    const where = (nodes: { target: unknown; failureSummary?: string | undefined }[]): string =>
      nodes.map(({ target, failureSummary }) => `${JSON.stringify(target)} ${failureSummary}`).join("; ");
    return violations.map(({ id, nodes }) => `${id}: ${where(nodes)}`);
  }, within ?? null);
}
