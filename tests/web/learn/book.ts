// SPDX-License-Identifier: Apache-2.0
/** A reader of the book in a real browser, who sees the numbers that its pages show and uses its controls. */
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect } from "vitest";
import { load, type Engine } from "headlens";
import { firefoxPage, holds, launchShell, launchFirefox, servePlayground, type Served } from "../browser.js";

interface OpenPage {
  readonly page: Page;
  readonly faults: string[];
  readonly chapter: string;
}

export class Book {
  #browser!: Browser;
  #site!: Served;
  #engine!: Engine;
  #opened: OpenPage | undefined;

  constructor(readonly name: "Chromium" | "Firefox") {
    beforeAll(async () => {
      this.#site = await servePlayground();
      this.#browser = await (name === "Chromium" ? launchShell() : launchFirefox({ extraPrefsFirefox: { "ui.prefersReducedMotion": 1 } }));
      this.#engine = await load();
    });
    afterAll(async () => {
      await this.#browser.close();
      await this.#site.close();
      this.#engine.dispose();
    });
  }

  /** An engine to hold the page's numbers against. */
  get engine(): Engine {
    return this.#engine;
  }

  get url(): string {
    return this.#site.url;
  }

  /** Opens the page of a chapter, unless it is open, and waits until the lesson is alive. `state` is that of an address. */
  async lesson(chapter: string, name: string, state = ""): Promise<OpenLesson> {
    if (this.#opened?.chapter !== chapter || state !== "") await this.#open(chapter, `#${name}${state === "" ? "" : `&${state}`}`);
    const { page, faults } = this.#opened ?? {};
    if (!page || !faults) throw new Error("no page is open");
    await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), name);
    const lesson = new OpenLesson(page, faults, name);
    await lesson.settled();
    return lesson;
  }

  async #newPage(url: string): Promise<Omit<OpenPage, "chapter">> {
    const page = await this.#browser.newPage();
    const faults: string[] = [];
    page.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => faults.push(`exception: ${String(error)}`));
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(url);
    // A pointer that is sent to a place while the page still scrolls there would miss it.
    await page.evaluate(() => {
      document.documentElement.style.scrollBehavior = "auto";
    });
    return { page, faults };
  }

  async #open(chapter: string, hash: string): Promise<void> {
    await this.#opened?.page.close();
    const opening = (): Promise<Omit<OpenPage, "chapter">> => this.#newPage(`${this.url}learn/${chapter}/${hash}`);
    const isAlive = (): boolean =>
      [...document.querySelectorAll("attention-lesson")].some((one) => one.shadowRoot?.querySelector(".figure.alive"));
    const opened = await (this.name === "Firefox" ? firefoxPage(opening, isAlive) : opening());
    this.#opened = { ...opened, chapter };
  }
}

type Put = number | string | boolean;

export class OpenLesson {
  constructor(readonly page: Page, readonly faults: readonly string[], private readonly name: string) {}

  /** Waits until the lesson is alive and has computed the state that its controls show. */
  async settled(): Promise<void> {
    await this.page.evaluate((name) => {
      (globalThis as { lessonName?: string }).lessonName = name;
    }, this.name);
    await holds(this.page, () => {
      const { lessonName } = globalThis as { lessonName?: string };
      const lesson = document.querySelector(`attention-lesson[name="${lessonName ?? ""}"]`);
      return lesson?.shadowRoot?.querySelector(".figure.alive") !== null && !lesson?.hasAttribute("aria-busy");
    });
    expect(this.faults).toEqual([]);
  }

  /** The numbers of a matrix as they are printed in the page, by the name in its caption. Masked scores are −∞. */
  async numbers(matrix: string): Promise<number[][]> {
    // As texts, since numbers that are not finite do not come through.
    const texts = await this.page.evaluate((lesson, name) => {
      const root = document.querySelector(`attention-lesson[name="${lesson}"]`)?.shadowRoot;
      const table = [...root?.querySelectorAll<HTMLElement>("table.matrix") ?? []].find((one) => one.dataset.matrix === name);
      if (!table) throw new Error(`no matrix ${name} in ${lesson}`);
      const text = (cell: Element): string => (cell.querySelector("input")?.value ?? cell.textContent ?? "").trim();
      return [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td[data-row]")].map(text));
    }, this.name, matrix);
    return texts.map((row) => row.map((text) => Number(text.replace("−", "-").replace("∞", "Infinity"))));
  }

  /** The text of everything in the lesson that a selector finds. */
  texts(selector: string): Promise<string[]> {
    return this.page.evaluate((lesson, found) => {
      const root = document.querySelector(`attention-lesson[name="${lesson}"]`)?.shadowRoot;
      return [...root?.querySelectorAll(found) ?? []].map((one) => (one.textContent ?? "").replaceAll(/\s+/g, " ").trim());
    }, this.name, selector);
  }

  says(): Promise<string[]> {
    return this.texts(".says li");
  }

  /** True when every sentence about the numbers says what the lesson expects. */
  async isAsExpected(): Promise<boolean> {
    return (await this.texts(".says li")).length > 0 && (await this.texts(".says .unexpected")).length === 0;
  }

  /** Moves a slider (`value` is its place: for steps, the index), ticks a box, or types a text, as the browser reports it. */
  async set(control: string, value: number | string | boolean): Promise<void> {
    await this.#act((input, to) => {
      if (typeof to === "boolean") input.click();
      else input.value = String(to);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, `input[name="${control}"]`, value);
  }

  /** Chooses one of several names. */
  choose(control: string, option: string): Promise<void> {
    return this.#act((input) => input.click(), `input[name="${control}"][value="${option}"]`, "");
  }

  /** Types a number into a cell of a matrix. */
  type(matrix: string, row: number, col: number, value: number): Promise<void> {
    return this.#act((input, to) => {
      input.value = String(to);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, `table[data-matrix="${matrix}"] td[data-row="${row}"][data-col="${col}"] input`, value);
  }

  /** Points at a cell, and returns the sum that the figure writes. */
  async point(matrix: string, row: number, col: number): Promise<string> {
    const cell = `table[data-matrix="${matrix}"] td[data-row="${row}"][data-col="${col}"]`;
    // Lessons above that come alive meanwhile move the cell away from under the pointer.
    for (let left = 5; left > 0 && (await this.texts(`${cell}.lit`)).length === 0; --left) {
      await this.page.hover(`attention-lesson[name="${this.name}"] >>> ${cell}`);
      await this.settled();
    }
    return (await this.texts("output.sum"))[0] ?? "";
  }

  /** Answers the question, and returns what the lesson says to it. */
  async answer(index: number): Promise<string> {
    await this.press(`.question li:nth-child(${index + 1}) button`);
    return (await this.texts(".question [role=status]"))[0] ?? "";
  }

  /** Presses what a selector finds, wherever it is: the page moves while lessons above it come alive. */
  press(selector: string): Promise<void> {
    return this.#act((element) => void element.dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true })), selector, "");
  }

  async #act(act: (input: HTMLInputElement, value: Put) => void, selector: string, value: Put): Promise<void> {
    const input = await this.page.$(`attention-lesson[name="${this.name}"] >>> ${selector}`);
    if (!input) throw new Error(`${this.name} has no ${selector}`);
    await input.evaluate(act as (element: Element, value: Put) => void, value);
    await this.settled();
  }
}

/** Holds numbers that a page prints with so many decimals against others. */
export function expectPrinted(
  printed: readonly (readonly number[])[], expected: readonly (readonly number[])[], digits: number,
): void {
  expect(printed.map((row) => row.length)).toEqual(expected.map((row) => row.length));
  const bound = 0.5001 * 10 ** -digits + 1e-5;
  for (const [row, cells] of expected.entries()) {
    for (const [col, value] of cells.entries()) {
      const shown = printed[row]?.[col] ?? NaN;
      if (Number.isFinite(value)) expect(Math.abs(shown - value), `[${row}][${col}]`).toBeLessThanOrEqual(bound);
      else expect(shown).toBe(value);
    }
  }
}
