// SPDX-License-Identifier: Apache-2.0
/**
 * A reader of the built page, who finds things by the names that are seen and heard, and has a pointer and keys. Nothing
 * here acts from inside the page, except that files are dropped with a made event, as no test can hold a file.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { load } from "headlens";
import type { Engine, Model } from "headlens";
import type { Browser, ElementHandle, KeyInput, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { desktop, firefoxPage, isDrawn, launchChromium, launchFirefox, servePlayground } from "../browser.js";
import type { Served } from "../browser.js";

/** The kinds of things that can be clicked, chosen or filled in. */
export type Kind = "button" | "link" | "select" | "check" | "slider" | "field" | "part" | "bars";

const kSelectors: Readonly<Record<Kind, string>> = {
  button: "button, summary, [role=button], label:has(> input[type=file])",
  link: "a[href]",
  select: "select",
  check: "input[type=checkbox], input[type=radio]",
  slider: "input[type=range]",
  field: "textarea, input:not([type]), input[type=text], input[type=search], input[type=url]",
  part: "[role=application], [role=grid], [tabindex='0'][aria-label]",
  bars: "[role=slider]",
};

/** The browser's sentence that the page opens with. In `tiny`, head 3.4 looks from "and" (row 6) at "queen" (column 2). */
export const kSentence = "The queen saw the king and she laughed.";

/** The text without the signs that keep directions apart. */
export const plain = (text: string): string => text.replace(/[\u2066-\u2069]/g, "").replace(/\s+/g, " ").trim();

/** The numbers in a text as the page writes them. */
export const numbersIn = (text: string): number[] =>
  (text.replaceAll("−", "-").match(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g) ?? []).map(Number);

export class Reader {
  engine!: Engine;
  page!: Page;
  /** The folder in which the browser saves files. */
  readonly folder = mkdtempSync(join(tmpdir(), "headlens-"));
  readonly #models = new Map<string, Model>();
  #browser!: Browser;
  #server!: Served;
  #faults: string[] = [];

  constructor(readonly name: "Chromium" | "Firefox") {
    beforeAll(async () => {
      const launch = name === "Firefox" ? launchFirefox : launchChromium;
      [this.#browser, this.#server, this.engine] = await Promise.all([
        launch({
          downloadBehavior: { policy: "allow", downloadPath: this.folder },
          extraPrefsFirefox: { "browser.download.folderList": 2, "browser.download.dir": this.folder },
        }), servePlayground(), load(),
      ]);
      ({ page: this.page } = await firefoxPage(() => this.#newPage(), isDrawn));
    });
    afterAll(async () => {
      await this.#browser.close();
      await this.#server.close();
      this.engine.dispose();
      rmSync(this.folder, { recursive: true });
    });
    afterEach(() => {
      expect(this.#faults.splice(0)).toEqual([]);
    });
  }

  get url(): string {
    return this.#server.url;
  }

  async model(name: string): Promise<Model> {
    const known = this.#models.get(name);
    if (known) return known;
    const model = await this.engine.loadModel(name);
    this.#models.set(name, model);
    return model;
  }

  async #newPage(): Promise<{ page: Page }> {
    const page = await this.#browser.newPage();
    page.on("pageerror", (error) => this.#faults.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") this.#faults.push(message.text());
    });
    await page.setViewport(desktop);
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]).catch(() => undefined);
    await page.goto(this.url);
    return { page };
  }

  /** Types an address, and waits until the page shows what it holds. */
  async open(address = ""): Promise<void> {
    const { page } = this;
    const to = this.url + address;
    await page.mouse.move(1, 1);
    const load = async (): Promise<{ page: Page; close: () => Promise<void> }> => {
      await page.evaluate(() => delete document.documentElement.dataset.state);
      if (page.url() === to) await page.reload();
      else await page.goto(to);
      return { page, close: () => Promise.resolve() };
    };
    await firefoxPage(load, isDrawn);
  }

  async drawn(): Promise<void> {
    await this.until(() => this.page.evaluate(isDrawn), (done) => done, "the page is drawn");
  }

  /** Waits until what `ask` gives is as `isSo` says, and returns it. */
  async until<T>(ask: () => Promise<T>, isSo: (value: T) => boolean, words = "that"): Promise<T> {
    const end = Date.now() + Number(process.env.WAIT ?? 30_000); // long, since other tests may use the processor
    for (;;) {
      const value = await ask();
      if (isSo(value)) return value;
      if (Date.now() > end) throw new Error(`waited long for ${words}, and saw ${JSON.stringify(value)?.slice(0, 2000)}`);
      await new Promise((later) => setTimeout(later, 25));
    }
  }

  /** The thing that stands under a name in a place: an element of the page, or a part of one, as "#map >>> .lines". */
  async find(kind: Kind, name: string, place = "body"): Promise<ElementHandle<HTMLElement>> {
    const ask = async (): Promise<ElementHandle<HTMLElement> | undefined> => {
      const found = await this.page.evaluateHandle(findNamed, kSelectors[kind], name, place);
      return (found.asElement() ?? undefined) as ElementHandle<HTMLElement> | undefined;
    };
    const found = await this.until(ask, (one) => one !== undefined, `the ${kind} ${JSON.stringify(name)} in ${place}`);
    if (!found) throw new Error(name);
    return found;
  }

  /** Clicks on something once it is at rest, as readers do: what comes above it may still move it. */
  async click(kind: Kind, name: string, place?: string): Promise<void> {
    await (await this.find(kind, name, place)).asLocator().click();
  }

  /** Opens what is folded under a name, unless it is open. */
  async unfold(name: string, place?: string): Promise<void> {
    const summary = await this.find("button", name, place);
    const isOpen = await summary.evaluate((found) => (found.parentElement as HTMLDetailsElement).open);
    if (!isOpen) await this.click("button", name, place);
  }

  /** Chooses an option by its words. */
  async choose(name: string, option: string, place?: string): Promise<void> {
    const select = await this.find("select", name, place);
    const value = await select.evaluate((found, words) =>
      [...(found as HTMLSelectElement).options].find(({ text }) => text.includes(words))?.value, option);
    if (value === undefined) throw new Error(`${name} has no option ${option}`);
    await select.select(value);
  }

  /** Presses keys one after another. "Shift+p" holds a key. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const [last = "", ...held] = key === "+" ? ["+"] : key.split("+").reverse();
      for (const one of held) await this.page.keyboard.down(one as KeyInput);
      await this.page.keyboard.press(last as KeyInput);
      for (const one of held) await this.page.keyboard.up(one as KeyInput);
    }
  }

  /** Goes to a slider or another control by a click on its name, and presses keys. */
  async slide(name: string, keys: readonly string[], place?: string): Promise<void> {
    await (await this.find("slider", name, place)).focus();
    await this.press(...keys);
  }

  /** Replaces what a field holds. */
  async fill(name: string, text: string, place?: string): Promise<void> {
    const field = await this.find("field", name, place);
    await field.click({ count: 3 });
    await this.press("Control+a", "Backspace");
    await this.page.keyboard.type(text);
  }

  /** The text of all that a selector finds, also in shadow roots. */
  texts(selector: string): Promise<string[]> {
    return this.page.$$eval(selector, (found) => found.map(({ textContent }) => textContent ?? ""))
      .then((found) => found.map(plain));
  }

  /** Waits until a place shows words, and returns the part of it that was looked for. */
  async reads(selector: string, words: string | RegExp): Promise<string> {
    const isSo = (text: string): boolean => (typeof words === "string" ? text.includes(words) : words.test(text));
    return this.until(async () => (await this.texts(selector)).join(" | "), isSo, `${String(words)} in ${selector}`);
  }

  /** Drops files on the page. */
  async drop(...paths: readonly string[]): Promise<void> {
    const files = paths.map((path) => [basename(path), readFileSync(path).toString("base64")] as const);
    await this.page.evaluate((all) => {
      const types: Readonly<Record<string, string>> = { png: "image/png" };
      const data = new DataTransfer();
      for (const [name, base64] of all) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], name, { type: types[name.split(".").at(-1) ?? ""] ?? "" }));
      }
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, files);
  }

  /** The middle of a cell of the open map. */
  async cell(row: number, col: number, rows: number, cols = rows): Promise<[number, number]> {
    const cells = await this.page.$("#map >>> .cells");
    await cells?.scrollIntoView();
    const box = await cells?.boundingBox();
    if (!box) throw new Error("there is no map");
    return [box.x + ((col + 0.5) / cols) * box.width, box.y + ((row + 0.5) / rows) * box.height];
  }

  /** The number of pixels of a canvas that are not transparent, and the number of colours in them. */
  ink(selector: string): Promise<{ pixels: number; colors: number }> {
    return this.page.$eval(selector, (found) => {
      const canvas = found as HTMLCanvasElement;
      const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? new Uint8ClampedArray();
      const colors = new Set<number>();
      let pixels = 0;
      new Uint32Array(data.buffer).forEach((color) => {
        if (color >>> 24 === 0) return;
        pixels++;
        colors.add(color);
      });
      return { pixels, colors: colors.size };
    });
  }

  /** The name of what has the focus. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      return active?.getAttribute("aria-label") ?? active?.textContent ?? "";
    }).then(plain);
  }
}

/** Runs in the page: the first visible element of a kind whose name begins with these words, or is one of its words. */
function findNamed(selector: string, name: string, place: string): HTMLElement | null {
  const clean = (text: string): string => text.replace(/[\u2066-\u2069]/g, "").replace(/\s+/g, " ").trim();
  const [host = "body", inside] = place.split(" >>> ");
  const within = document.querySelector(host);
  const roots: (ShadowRoot | Element)[] =
    inside !== undefined ? [...(within?.shadowRoot?.querySelectorAll(inside) ?? [])] : within ? [within] : [];
  const all: HTMLElement[] = [];
  for (let root = roots.shift(); root; root = roots.shift()) {
    if (root instanceof Element && root.shadowRoot) roots.unshift(root.shadowRoot);
    all.push(...root.querySelectorAll<HTMLElement>(selector));
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
  }
  const nameOf = (element: HTMLElement): string => {
    const own = element.getAttribute("aria-label");
    if (own !== null) return clean(own);
    if (!element.matches("input, select, textarea")) return clean(element.textContent ?? "");
    const [label] = (element as HTMLInputElement).labels ?? [];
    const copy = label?.cloneNode(true) as Element | undefined;
    copy?.querySelectorAll("select, output, textarea").forEach((part) => part.remove());
    return clean(copy?.textContent ?? "");
  };
  const isSeen = (element: HTMLElement): boolean => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(element).visibility !== "hidden" && !element.matches(":disabled");
  };
  const seen = all.filter(isSeen);
  return seen.find((one) => nameOf(one) === name) ?? seen.find((one) => nameOf(one).startsWith(name))
    ?? seen.find((one) => nameOf(one).includes(name)) ?? null;
}
