// SPDX-License-Identifier: Apache-2.0
/**
 * The element where authors put it: scripts of another origin, files on disk, strict policies, servers without a DOM; and
 * a large map in both browsers. What else a reader does in Firefox is in reader/firefox.test.ts.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import type { Browser, Frame, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readAddress } from "../../web/state/address.js";
import { writeAddress } from "../../web/state/written-address.js";
import { serve, type Server } from "../wasm/server.js";
import { firefoxPage, holds, launchShell, launchFirefox, root, servePlayground } from "./browser.js";
import { expectLargeMap } from "./large-map.js";

const kText = '<attention-map text="Anna saw Ben."></attention-map>';
const kHeads = 32;
const kScript = '<script type="module" src="/dist/element.js"></script>';

const document_ = (head: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title>${head}</head><body>${body}</body></html>`;

/** All that a page said on its console or threw. */
interface Visited {
  readonly page: Page;
  readonly said: string[];
}

const heads = (): number =>
  document.querySelector("attention-map")?.shadowRoot?.querySelectorAll(".thumb:not(.unknown)").length ?? 0;

const isDone = (): boolean =>
  (document.querySelector("attention-map")?.shadowRoot?.querySelectorAll(".thumb:not(.unknown), [role=alert]").length ?? 0) > 0;

describe.each(["chromium", "firefox"] as const)("in %s", (name) => {
  let browser: Browser;
  const servers: Server[] = [];
  const folders: string[] = [];

  beforeAll(async () => {
    browser = await (name === "chromium" ? launchShell() : launchFirefox());
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });
  afterAll(() => browser.close());

  async function open(url: string): Promise<Visited> {
    const visit = async (): Promise<Visited> => {
      const page = await browser.newPage();
      const said: string[] = [];
      page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => {
        // Firefox asks for the icon of a page even where its policy forbids that.
        if (!String(error).includes("favicon.ico")) said.push(`exception: ${String(error)}`);
      });
      await page.goto(url);
      return { page, said };
    };
    return firefoxPage(visit, isDone);
  }

  /** Serves these pages and scripts under a policy, and everything else of the repository. */
  async function host(
    files: Readonly<Record<string, string>>, policy: string | undefined, headers = {},
  ): Promise<Server> {
    const special = (path: string, response: ServerResponse): boolean => {
      if (policy === undefined) response.removeHeader("content-security-policy");
      if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
      const text = files[path];
      if (text === undefined) return false;
      response.writeHead(200, { "content-type": path.endsWith(".js") ? "text/javascript" : "text/html" }).end(text);
      return true;
    };
    const ofPolicy = policy === undefined ? {} : { "content-security-policy": policy };
    const server = await serve(root, special, { ...ofPolicy, ...headers });
    servers.push(server);
    return server;
  }

  /** A page that takes the element from another origin. */
  async function withScriptFromElsewhere(policy: (origin: string) => string | undefined): Promise<Visited> {
    const other = await host({}, undefined, { "access-control-allow-origin": "*" });
    const html = document_(`<script type="module" src="${other.url}dist/element.js"></script>`, kText);
    return open((await host({ "/": html }, policy(new URL(other.url).origin))).url);
  }

  test("a script from another origin draws, with its engine in a worker", async () => {
    const { page, said } = await withScriptFromElsewhere(() => undefined);
    expect(await page.evaluate(heads)).toBe(kHeads);
    expect(said).toEqual([]);
    if (name === "chromium") expect(page.workers().map((worker) => worker.url())).toEqual([expect.stringMatching(/^blob:/)]);
  });

  test("where a policy allows no worker, the engine runs on the main thread, which is said once", async () => {
    const { page, said } = await withScriptFromElsewhere((origin) =>
      `default-src 'none'; script-src ${origin} 'wasm-unsafe-eval'; connect-src ${origin}; worker-src 'none'`);
    expect(await page.evaluate(heads)).toBe(kHeads);
    expect(said.filter((line) => line.startsWith("warn"))).toEqual([expect.stringContaining("main thread")]);
  });

  test("the classic script of arrays draws under default-src 'self', and refuses what needs the engine by name", async () => {
    const scripts = '<script src="/dist/headlens.arrays.js"></script><script src="/given.js" defer></script>';
    const given = "Object.assign(document.querySelector('attention-map'), "
      + "{ weights: { data: [1, 0, 0.25, 0.75], shape: [1, 2, 2] }, tokens: ['a', 'b'] });";
    const files = { "/": document_(scripts, "<attention-map></attention-map>"), "/given.js": given };
    const server = await host(files, "default-src 'self'");
    const { page, said } = await open(server.url);
    expect(await page.evaluate(heads)).toBe(1);
    expect(said).toEqual([]);
    const message = await page.evaluate(async () => {
      const element = document.createElement("attention-map");
      element.text = "Anna";
      const failed = new Promise<string>((resolve) =>
        element.addEventListener("attention-error", (event) => resolve((event as CustomEvent<{ error: Error }>).detail.error.message)));
      document.body.append(element);
      return failed;
    });
    expect(message).toContain("headlens/element");
    expect(server.requests.filter((path) => /wasm|worker/.test(path))).toEqual([]);
  });

  test.each([
    ["headlens.standalone.js", kText, kHeads],
    ["headlens.arrays.js", "<attention-map></attention-map>", 1],
  ])("%s draws in a file on disk", async (script, body, count) => {
    const folder = mkdtempSync(join(tmpdir(), "headlens-"));
    folders.push(folder);
    copyFileSync(join(root, "dist", script), join(folder, script));
    const given = count === 1
      ? "<script>document.querySelector('attention-map').weights = { data: [1, 0, 0.5, 0.5], shape: [2, 2] };</script>" : "";
    writeFileSync(join(folder, "page.html"), document_(`<script src="${script}"></script>`, body + given));
    const { page, said } = await open(pathToFileURL(join(folder, "page.html")).href);
    expect(await page.evaluate(heads)).toBe(count);
    expect(said).toEqual([]);
    if (name === "chromium" && count > 1) expect(page.workers()).toHaveLength(1);
  });

  test("Trusted Types with the package's policies, and nothing else", async () => {
    const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
      + "require-trusted-types-for 'script'; trusted-types headlens lit-html";
    const { url } = await host({ "/": document_(kScript, kText) }, policy);
    const { page, said } = await open(url);
    expect(await page.evaluate(heads)).toBe(kHeads);
    expect(said).toEqual([]);
  });

  test("a large map's pixels and values are those of its numbers", async () => {
    const html = document_('<script type="module" src="/dist/arrays.js"></script>', '<attention-map view="map" scale="fixed"></attention-map>');
    const server = await host({ "/": html }, "default-src 'self'");
    const page = await browser.newPage();
    await page.setViewport({ width: 1000, height: 900 });
    await page.goto(server.url);
    await page.evaluate(() => customElements.whenDefined("attention-map").then(() => undefined));
    await expectLargeMap(page, name === "firefox" ? 6 : 0);
    await page.close();
  });

  test("forty elements share one engine and one model", async () => {
    const body = Array.from({ length: 40 }, (_, i) => `<attention-map text="Word ${i}."></attention-map>`).join("");
    const server = await host({ "/": document_(kScript, body) }, undefined);
    const { page } = await open(server.url);
    for (let i = 0; i < 40; i += 13) {
      await page.evaluate((index) => document.querySelectorAll("attention-map")[index]?.scrollIntoView(), i);
    }
    const fetched = (part: string): number => server.requests.filter((path) => path.includes(part)).length;
    expect([fetched("worker.js"), fetched(".wasm"), fetched("model.safetensors")]).toEqual([1, 1, 1]);
    if (name === "chromium") expect(page.workers()).toHaveLength(1);
  });
});

describe("the page for iframes", () => {
  let browser: Browser;
  const closing: { close(this: void): Promise<void> }[] = [];
  beforeAll(async () => {
    browser = await launchShell();
  });
  afterEach(async () => {
    for (const served of closing.splice(0)) await served.close();
  });
  afterAll(() => browser.close());

  /** A page of another origin with a frame of the figure. */
  async function framed(hash: string, more = ""): Promise<Page> {
    const playground = await servePlayground();
    const html = document_("", `<iframe src="${playground.url}embed.html#${hash}" width="600" height="100"></iframe>${more}`);
    const host = await serve(root, (path, response) => {
      response.removeHeader("content-security-policy");
      if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
      return Boolean(response.writeHead(200, { "content-type": "text/html" }).end(html));
    });
    closing.push(playground, host);
    const page = await browser.newPage();
    await page.goto(host.url);
    return page;
  }

  async function frameOf(page: Page): Promise<Frame> {
    const frame = await page.waitForFrame((one) => one.url().includes("embed.html"));
    await frame.waitForFunction(isDone);
    return frame;
  }

  test("draws in a host without scripts", async () => {
    const frame = await frameOf(await framed("text=Anna+saw+Ben.&view=grid"));
    expect(await frame.evaluate(heads)).toBe(kHeads);
    expect(await frame.$eval("a", (link) => link.href)).toContain("/#text=Anna+saw+Ben.&view=grid");
  });

  test("tells its height", async () => {
    const page = await framed("text=Anna+saw+Ben.&view=grid", `<script>addEventListener("message", ({ data, source }) => {
      for (const frame of document.querySelectorAll("iframe"))
        if (frame.contentWindow === source && data.type === "headlens-height") frame.style.height = data.height + "px";
    });</script>`);
    const frame = await frameOf(page);
    await holds(page, () => (document.querySelector("iframe")?.clientHeight ?? 0) > 300, 10);
    expect(await frame.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBeLessThanOrEqual(0);
  });

  test("holds long texts, and names what it cannot hold", async () => {
    const long = "The cat sat on the mat because it was tired. ".repeat(20);
    const frame = await frameOf(await framed(await writeAddress({ text: long, view: "grid" })));
    expect(await frame.evaluate(() => document.querySelector("attention-map")?.text)).toBe(long);
    const page = await framed("needs=text");
    const asking = await page.waitForFrame((one) => one.url().includes("embed.html"));
    await asking.waitForSelector("[role=alert]:not([hidden]) ::-p-text(could not hold the text)");
  });
});

test("an address holds a text of any length in few letters, and says what it cannot hold or read", async () => {
  const words = "it was tired and ";
  for (const text of ["", "short", words.repeat(500), "ü\u2028😀".repeat(100)]) {
    const address = await writeAddress({ text, layer: 2 });
    expect(address.length).toBeLessThan(700);
    const { state, text: packed, needs } = readAddress(`#${address}`);
    expect([(await packed) ?? state.text ?? "", state.layer, needs]).toEqual([text, 2, []]);
  }
  const noise = Array.from({ length: 12_000 }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join("");
  expect(readAddress(await writeAddress({ text: noise })).needs).toEqual(["text"]);
  await expect(readAddress("packed=AAAA").text).rejects.toThrow("no readable text");
  const bomb = deflateRawSync(Buffer.alloc(3 << 20, 97)).toString("base64url");
  await expect(readAddress(`packed=${bomb}`).text).rejects.toThrow("no readable text");
});

describe("in the room that a page gives", () => {
  let browser: Browser;
  let server: Server;
  let page: Page;
  beforeAll(async () => {
    browser = await launchShell();
    const special = (path: string, response: ServerResponse): boolean => {
      response.removeHeader("content-security-policy");
      if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
      if (path !== "/") return false;
      return Boolean(response.writeHead(200, { "content-type": "text/html" }).end(document_(kScript, "")));
    };
    server = await serve(root, special);
    page = await browser.newPage();
    await page.goto(server.url);
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  /** Fills the page with one element, and waits until it is drawn. */
  async function place(html: string, width = 800): Promise<void> {
    await page.setViewport({ width, height: 600 });
    await page.evaluate((text) => { document.body.innerHTML = text; }, html);
    await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(
      ".thumb:not(.unknown), .cells canvas, .result") !== null);
  }

  const text = 'text="The cat sat on the mat because it was tired."';

  /** The pixels by which the content is larger than the element, and the element larger than the page. */
  const spilled = (): Promise<number[]> => page.evaluate(() => {
    const element = document.querySelector("attention-map");
    const box = element?.shadowRoot?.querySelector(".root");
    const { scrollWidth = 9, clientWidth = 0, scrollHeight = 9, clientHeight = 0 } = box ?? {};
    return [scrollWidth - clientWidth, scrollHeight - clientHeight, document.documentElement.scrollWidth - innerWidth];
  });

  test.each([
    ["grid", "width: 200px; height: 150px", 800], ["map", "width: 200px; height: 150px", 800],
    ["grid", "width: 400px; height: 300px", 800], ["map", "width: 400px; height: 300px", 800],
    ["grid", "width: 250px", 800], ["map", "width: 250px", 800],
    ["grid", "", 360], ["map", "", 360], ["grid", "", 180], ["map", "", 180],
  ])("%s with %s in a page of %i pixels does not spill", async (view, style, width) => {
    await place(`<attention-map ${text} view="${view}" style="${style}"></attention-map>`, width);
    const [right, down, page_] = await spilled();
    expect([right, page_]).toEqual([0, 0]);
    if (style.includes("height")) expect(down).toBe(0);
  });

  test("a dark page without a colour scheme has dark maps, which follow its text when that changes", async () => {
    await place(
      `<div style="background: #111; color: #eee"><attention-map ${text} view="map"></attention-map></div>`);
    const isDark = (): boolean =>
      document.querySelector("attention-map")?.shadowRoot?.querySelector(".root")?.classList.contains("dark") ?? false;
    expect(await page.evaluate(isDark)).toBe(true);
    await page.evaluate(() => { (document.querySelector("div") as HTMLElement).style.color = "#222"; });
    await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(".root.light") !== null, 5);
    await page.evaluate(() => document.querySelector("attention-map")?.setAttribute("theme", "dark"));
    await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(".root.dark") !== null, 5);
  });

  test("a page's custom properties decide the colours, also of the canvases, and parts can be styled", async () => {
    const style = "--attention-low: rgb(250 240 200); --attention-high: color(srgb 0.2 0 0.4); --attention-ink: rgb(0 0 120)";
    await place(`<style>attention-map::part(title) { color: rgb(1, 2, 3); }</style>
      <attention-map view="map" style="${style}"><script type="application/json">[[0, 1], [1, 0]]</script></attention-map>`);
    const { cells, bar, ink, title } = await page.evaluate(() => {
      const { shadowRoot } = document.querySelector("attention-map") as HTMLElement;
      const find = (selector: string): HTMLElement => shadowRoot?.querySelector(selector) as HTMLElement;
      const at = (canvas: HTMLCanvasElement, x: number, y: number): number[] =>
        [...(canvas.getContext("2d")?.getImageData(x * (canvas.width - 1), y * (canvas.height - 1), 1, 1).data ?? [])];
      const map = find(".cells > canvas") as HTMLCanvasElement, legend = find(".scale canvas") as HTMLCanvasElement;
      return {
        cells: [at(map, 0, 0), at(map, 1, 0)], bar: [at(legend, 0, 0), at(legend, 1, 0)],
        ink: getComputedStyle(find(".label")).color, title: getComputedStyle(find(".title")).color,
      };
    });
    expect(cells).toEqual([[250, 240, 200, 255], [51, 0, 102, 255]]);
    expect(bar).toEqual(cells);
    expect([ink, title]).toEqual(["rgb(0, 0, 120)", "rgb(1, 2, 3)"]);
  });

  test("properties are reflected as attributes, and usual values as none", async () => {
    await place(`<attention-map ${text} layer="1" theme="auto"></attention-map>`);
    const html = await page.evaluate(async () => {
      const element = document.querySelector("attention-map");
      if (!element) return "";
      Object.assign(element, { layer: 0, head: 3, view: "map", causal: true, text: "a" });
      await element.updateComplete;
      return element.outerHTML;
    });
    expect(html).toBe('<attention-map text="a" head="3" view="map" causal="true"></attention-map>');
  });
});

test.each(["element", "arrays", "headlens.arrays", "headlens.standalone"])("%s.js can be imported where there is no DOM", (script) => {
  const url = pathToFileURL(join(root, "dist", `${script}.js`)).href;
  const { status, stderr, stdout } = spawnSync(
    process.execPath, ["--input-type=module", "--eval", `await import(${JSON.stringify(url)}); console.log("imported");`], { encoding: "utf8" },
  );
  expect(stderr).toBe("");
  expect(stdout).toBe("imported\n");
  expect(status).toBe(0);
});
