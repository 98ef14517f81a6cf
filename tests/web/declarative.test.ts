// SPDX-License-Identifier: Apache-2.0
/** `<attention-map>` with maps that a page declares: by `src`, by a child script, and as nested lists. */
import type { ServerResponse } from "node:http";
import { zipSync } from "fflate";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { paletteOf } from "../../web/maps/palette.js";
import { serve, type Server } from "../wasm/server.js";
import { launchShell, open, root, seen, texts } from "./browser.js";
import { npy, safetensors, text, toBase64 } from "./files.js";

const kScript = '<script type="module" src="/dist/element.js"></script>';
const kTwo = { dtype: "F32", shape: [1, 2, 2], data: toBase64(Float32Array.of(1, 0, 0.25, 0.75)) };
const kArray = { descr: "<f4", data: Float32Array.of(1, 0, 0.25, 0.75) };

const kFiles: Readonly<Record<string, Uint8Array>> = {
  "maps.npy": npy({ ...kArray, shape: "(2, 2)" }),
  "maps.npz": zipSync({ "weights.npy": npy({ ...kArray, shape: "(1, 2, 2)" }) }),
  "maps.safetensors": safetensors({ "attentions.0": { dtype: "F32", shape: [1, 1, 2, 2], data: kArray.data } }, { pieces: '["a","b"]' }),
  "maps.json": text({ tokens: ["a", "b"], weights: kTwo }),
  "maps.csv": text(",a,b\na,1,0\nb,0.25,0.75\n"),
  "page.json": text("<!doctype html><title>Not here</title>"),
};

let browser: Browser;
let server: Server;
let html = "";
/** The answer to /slow, whose page comes in parts. */
let slow: ServerResponse | undefined;

beforeAll(async () => {
  browser = await launchShell();
  server = await serve(root, (path, response) => {
    if (path === "/files/never") return true;
    if (path === "/slow") {
      slow = response.writeHead(200, { "content-type": "text/html" });
      return true;
    }
    if (path === "/favicon.ico") response.writeHead(204).end();
    if (response.writableEnded) return true;
    const file = path === "/" ? html : kFiles[path.replace("/files/", "")];
    if (file === undefined) return false;
    response.writeHead(200, { "content-type": path === "/" ? "text/html" : "application/octet-stream" }).end(file);
    return true;
  });
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

let faults: string[] = [];

afterEach(async () => {
  for (const page of await browser.pages()) if (page.url().startsWith(server.url)) await page.close();
  expect(faults.splice(0)).toEqual([]);
});

/** Opens an empty page, whose next one logs what its elements draw and cannot draw. */
async function openLog(): Promise<Page> {
  const opened = await open(browser, "about:blank", undefined, false);
  faults = opened.faults;
  await opened.page.evaluateOnNewDocument(() => {
    const log: string[] = [];
    (window as unknown as { log: string[] }).log = log;
    for (const name of ["attention-draw", "attention-error"])
      addEventListener(name, (event) => {
        const { tokens, error } = (event as CustomEvent<{ tokens?: string[]; error?: Error }>).detail;
        log.push(error ? `error: ${error.message}` : `drawn: ${tokens?.join(" ")}`);
      });
  });
  return opened.page;
}

/** Opens a page with this body. */
async function openPage(body: string): Promise<Page> {
  html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Declared</title></head><body>${body}${kScript}</body></html>`;
  const page = await openLog();
  await page.goto(server.url);
  return page;
}

/** Waits until this many pictures were drawn or refused, and returns what was logged. */
async function logged(page: Page, count: number): Promise<string[]> {
  await page.waitForFunction((least) => (window as unknown as { log: string[] }).log.length >= least, {}, count);
  return page.evaluate(() => (window as unknown as { log: string[] }).log);
}

/** Sets properties; null, which stands for undefined on the way to the page, takes one away. */
const change = (page: Page, properties: Readonly<Record<string, unknown>>): Promise<void> =>
  page.$eval("attention-map", (element, given) => {
    for (const [name, value] of Object.entries(given)) Object.assign(element, { [name]: value ?? undefined });
  }, properties);

const understood = (page: Page): Promise<string[]> => texts(page, "[part=understood]");

/** The text below a cell of the open head, that of row 0 and column 0 first. */
async function readout(page: Page, moves: readonly ("ArrowRight" | "ArrowDown")[]): Promise<string> {
  await page.focus("attention-map >>> .plot");
  for (const key of moves) await page.keyboard.press(key);
  return (await texts(page, ".readout"))[0]?.replaceAll(/[\u2068\u2069]/g, "") ?? "";
}

test("a child script is drawn as it was parsed, and its tokens stay text", async () => {
  const token = '<img src=x onerror="document.title=1">';
  const json = JSON.stringify({ tokens: [token, "</script>"], causal: true, weights: kTwo }).replaceAll("<", "\\u003c");
  const page = await openPage(`<attention-map view="map"><script type="application/json">${json}</script></attention-map>`);
  expect(await logged(page, 1)).toEqual([`drawn: ${token} </script>`]);
  expect(await readout(page, ["ArrowDown"])).toBe("query ‘</script>’ → key ‘<img·src=x·onerror=…’: 0.2500");
  expect(await page.$$("attention-map >>> img")).toEqual([]);
  expect(await page.title()).toBe("Declared");
  expect(await understood(page)).toEqual(["the child script: float32 (1, 2, 2), read as heads × queries × keys"]);
  expect(await texts(page, ".legend .masked")).toEqual(["masked"]);
});

test("a child that comes later is drawn, and drawn anew when its text changes", async () => {
  const page = await openPage('<attention-map view="map"></attention-map>');
  await seen(page, "attention-map >>> .message ::-p-text(No text yet)");
  await page.$eval("attention-map", (element) => {
    const script = document.createElement("script");
    script.type = "application/json";
    script.textContent = '{"tokens": ["x", "y"], "weights": [[1, 0], [0, 1]]}';
    element.append(script);
  });
  expect(await logged(page, 1)).toEqual(["drawn: x y"]);
  await page.$eval("attention-map > script", (script) => void (script.textContent = '{"tokens": ["z"], "weights": [[1]]}'));
  expect(await logged(page, 2)).toEqual(["drawn: x y", "drawn: z"]);
  await page.$eval("attention-map > script", (script) => (script.firstChild as Text).replaceData(0, 1, "["));
  expect((await logged(page, 3))[2]).toMatch(/^error: the child script is not JSON: /);
  await page.$eval("attention-map > script", (script) => script.remove());
  await seen(page, "attention-map >>> .message ::-p-text(No text yet)");
});

test("a child that is still being parsed when the element is defined is read once it is complete", async () => {
  const page = await openLog();
  const loaded = page.goto(`${server.url}slow`);
  await expect.poll(() => slow).toBeDefined();
  const script = kScript.replace("<script", "<script async");
  slow?.write(`<!doctype html>${script}<attention-map view="map"><script type="application/json">{"tokens": ["x",`);
  await expect.poll(() => page.evaluate(() => document.querySelector("attention-map")?.shadowRoot?.querySelector("p")?.textContent)).toBe("No text yet.");
  slow?.end(`"y"], "weights": [[1, 0], [0, 1]]}</script></attention-map>`);
  await loaded;
  expect(await logged(page, 1)).toEqual(["drawn: x y"]);
});

test("src of each kind of file is drawn, and says how it was understood", async () => {
  const page = await openPage('<attention-map view="map" src="files/maps.npy"></attention-map>');
  const expected = {
    "maps.npy": ["0 1", "maps.npy: float32 (2, 2), read as queries × keys"],
    "maps.npz": ["0 1", "maps.npz: float32 (1, 2, 2), read as heads × queries × keys"],
    "maps.safetensors": ["a b", "maps.safetensors: float32 (1, 1, 2, 2), read as layers × heads × queries × keys"],
    "maps.json": ["a b", "maps.json: float32 (1, 2, 2), read as heads × queries × keys"],
    "maps.csv": ["a b", "maps.csv: a table (2, 2), read as queries × keys, with names in its first row and its first column"],
  };
  let count = 0;
  for (const [file, [tokens, words]] of Object.entries(expected)) {
    await page.$eval("attention-map", (element, src) => element.setAttribute("src", src), `files/${file}`);
    expect((await logged(page, ++count))[count - 1]).toBe(`drawn: ${tokens}`);
    expect(await understood(page)).toEqual([words]);
  }
  expect(await readout(page, ["ArrowDown", "ArrowRight"])).toBe("query ‘b’ → key ‘b’: 0.7500");
  const address = `data:application/json;base64,${Buffer.from('{"weights": [[1]]}').toString("base64")}`;
  faults = [];
  await change(page, { src: address });
  // The policy of this page allows its own server only, which the message says in the browser's words.
  expect((await logged(page, ++count))[count - 1]).toMatch(/^error: src: the data cannot be fetched: /);
  faults.splice(0);
});

test("how a file was understood is said before it is drawn", async () => {
  const page = await openPage("");
  await page.evaluate(async () => {
    await customElements.whenDefined("attention-map");
    const element = document.createElement("attention-map");
    const said: string[] = [];
    (window as unknown as { said: string[] }).said = said;
    element.src = "files/maps.npy";
    document.body.append(element);
    const watch = (): void => {
      const words = element.shadowRoot?.querySelector(".message p")?.textContent ?? "";
      if (words !== said.at(-1)) said.push(words);
    };
    new MutationObserver(watch).observe(element.shadowRoot!, { childList: true, characterData: true, subtree: true });
  });
  await logged(page, 1);
  const said = await page.evaluate(() => (window as unknown as { said: string[] }).said);
  expect(said).toContain("maps.npy: float32 (2, 2), read as queries × keys");
  expect(said.at(-1)).toBe("");
});

test("arrays of a script go before src, src before the child, and the element's own tokens before a file's", async () => {
  const page = await openPage('<attention-map view="map" src="files/maps.json"><script type="application/json">[[1]]</script></attention-map>');
  expect(await logged(page, 1)).toEqual(["drawn: a b"]);
  const requests = server.requests.length;
  await change(page, { tokens: ["le", "chat"] });
  expect((await logged(page, 2))[1]).toBe("drawn: le chat");
  const files = server.requests.slice(requests).filter((path) => !path.startsWith("/dist/"));
  expect(files, "the file is fetched once").toEqual([]);
  await change(page, { tokens: null, weights: [[0.5, 0.25, 0.25]] });
  expect((await logged(page, 3))[2]).toBe("drawn: 0");
  expect(await understood(page)).toEqual([]);
  await page.$eval("attention-map", (element) => {
    element.weights = undefined;
    element.removeAttribute("src");
  });
  expect((await logged(page, 4))[3]).toBe("drawn: 0");
  expect(await understood(page)).toEqual(["the child script: numbers (1, 1), read as queries × keys"]);
});

test.each([
  ["files/none.npy", /^error: src: the server answers 404 Not Found for none\.npy, expected the file$/],
  ["files/page.json", /^error: page\.json is an HTML page, as servers send for addresses that they do not have, expected maps as /],
  ["http://[", /^error: src is "http:\/\/\[", expected the address of a file$/],
])("src=%s is refused in words, and the next one is drawn", async (src, message) => {
  const page = await openPage(`<attention-map view="map" src="${src}"></attention-map>`);
  const [line = ""] = await logged(page, 1);
  expect(line).toMatch(message);
  expect(`error: ${(await texts(page, "[role=alert] p"))[0]}`).toBe(line);
  faults.splice(0);
  await change(page, { src: "files/maps.csv" });
  expect((await logged(page, 2))[1]).toBe("drawn: a b");
  expect(await page.$$("attention-map >>> [role=alert]")).toEqual([]);
});

test("a file that never comes does not hold the next one up", async () => {
  const page = await openPage('<attention-map view="map" src="files/never"></attention-map>');
  await seen(page, "attention-map >>> .message ::-p-text(Loading the file)");
  await change(page, { src: "files/maps.csv" });
  expect(await logged(page, 1)).toEqual(["drawn: a b"]);
  faults = faults.filter((fault) => !fault.includes("/files/never"));
});

test("queries and keys of a child are computed with", async () => {
  const page = await openPage('<attention-map view="map"><script type="application/json">{"queries": [[1, 0]], "keys": [[0, 0], [9, 0]], "softmaxScale": 1}</script></attention-map>');
  expect(await logged(page, 1)).toEqual(["drawn: 0"]);
  expect(await readout(page, ["ArrowRight"])).toBe("query ‘0’ → key ‘1’: 0.9999");
  expect(await understood(page)).toEqual(["the child script: queries and keys, from which maps are computed; numbers (1, 2), read as queries × width"]);
});

/** All colours (RGBA) of a canvas between its left, top, right and bottom shares. */
function colors(page: Page, selector: string, at: readonly [number, number, number, number]): Promise<string[]> {
  return page.$eval(selector, (canvas, [left, top, right, bottom]) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const [x, y] = [Math.ceil(left * width), Math.ceil(top * height)];
    const part = [x, y, Math.floor(right * width) - x, Math.floor(bottom * height) - y] as const;
    const { data } = (canvas as HTMLCanvasElement).getContext("2d")!.getImageData(...part);
    const found = new Set<string>();
    for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 4).join(" "));
    return [...found];
  }, at);
}

test.each(["light", "dark"] as const)("what is not known is dotted, told by its name, and never a number (%s)", async (scheme) => {
  // Of three rows, the cell (2, 1) is not known, and those above the diagonal are masked.
  const json = '{"tokens": ["a", "b", "c"], "rows": [[[0, 1]], [[0, 0], [1, 1]], [[0, 0.5], [2, 0.25]]]}';
  const page = await openPage(`<attention-map><script type="application/json">${json}</script></attention-map>`);
  await page.evaluate((wanted) => (document.documentElement.style.colorScheme = wanted), scheme);
  await logged(page, 1);
  const paper = scheme === "light" ? "255 255 255 255" : "18 21 27 255";
  const zero = [...paletteOf("sequential", scheme).bytes.subarray(0, 4)].join(" ");
  await page.$eval("attention-map", (element) => element.requestUpdate());
  for (const [selector, view] of [["attention-map >>> .line canvas", "grid"], ["attention-map >>> .cells > canvas", "map"]] as const) {
    await change(page, { view });
    await seen(page, selector);
    await page.waitForFunction((query) => {
      const canvas = document.querySelector("attention-map")?.shadowRoot?.querySelector<HTMLCanvasElement>(query);
      return (canvas?.width ?? 0) > 3;
    }, {}, selector.replace("attention-map >>> ", ""));
    const unknown = await colors(page, selector, [0.35, 0.68, 0.65, 0.98]);
    expect(unknown, view).toContain(paper);
    expect(unknown.length, view).toBeGreaterThan(1);
    expect(unknown, view).not.toContain(zero);
    expect(await colors(page, selector, [0.02, 0.35, 0.31, 0.64]), view).toEqual([zero]);
    expect(await colors(page, selector, [0.68, 0.02, 0.98, 0.31]), view).toEqual(["0 0 0 0"]);
  }
  expect((await texts(page, ".legend .masked")).sort()).toEqual(["masked", "not known"]);
  expect(await readout(page, ["ArrowDown", "ArrowDown", "ArrowRight"])).toBe("query ‘c’ → key ‘b’: not known");
});

test("nested lists of a script are arrays, and a ragged one is named by its place", async () => {
  const page = await openPage('<attention-map view="map"></attention-map>');
  await change(page, { weights: [[[1, 0], [0.25, 0.75]]], mask: [[true, false], [true, true]], tokens: ["a", "b"] });
  expect(await logged(page, 1)).toEqual(["drawn: a b"]);
  expect(await readout(page, ["ArrowRight"])).toBe("query ‘a’ → key ‘b’: masked");
  await page.$eval("attention-map", (element) => {
    element.weights = [Float32Array.of(1, 0), Float64Array.of(0.5, 0.5)];
    element.mask = undefined;
  });
  expect((await logged(page, 2))[1]).toBe("drawn: a b");
  const seven = [1, 2, 3, 4, 5, 6, 7];
  await change(page, { weights: [[seven], [seven], [seven], [seven.slice(2)]] });
  expect((await logged(page, 3))[2]).toBe("error: weights[3][0] has 5 numbers, expected 7");
  await change(page, { weights: null, queries: [[1, 2]], keys: [[1, 2], [3]], tokens: null });
  expect((await logged(page, 4))[3]).toBe("error: keys[1] has 1 numbers, expected 2");
});
