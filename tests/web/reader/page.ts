// SPDX-License-Identifier: Apache-2.0
/** A reader does all this with the page itself: keys only, addresses, the browser's buttons, files that are saved. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";
import { expect, test } from "vitest";
import { kExamples, kMore } from "../../../web/playground/examples.js";
import { bestHead } from "../../cards.js";
import { kSentence, numbersIn, type Reader } from "./reader.js";

export function readPage(reader: Reader): void {
  const finding = (words: RegExp): Promise<string> => reader.reads("#sentence >>> .sentence-finding", words);

  test("opens the page on what its head finds, by the name that the card gives it", async () => {
    await reader.open();
    await finding(/^‘and’ looks at ‘queen’: 9\d(\.\d)? % in head 3\.4, antecedent of a pronoun/);
    await reader.reads("#next >>> li .unseen", /^‘she’: 9\d/);
    const hidden = await reader.page.$eval("#sentence >>> .sentence-rows", (rows) => rows.scrollHeight - rows.clientHeight);
    expect(hidden, "a short sentence does not scroll").toBe(0);
    const heads = kExamples.filter(({ state: { model } }) => model === "tiny").map(({ state: { layer, head } }) => [layer, head]);
    const probes = ["antecedent of a pronoun", "subject of a verb", "induction", "previous token", "opening quotation mark"];
    expect(heads, "the examples open the heads that the card measures").toEqual(probes.map(bestHead));
  });

  test("opens each example on a link that is plain to see", async () => {
    await reader.open();
    for (const { title, state } of kExamples) {
      await reader.click("button", "Examples");
      await reader.click("button", title);
      await reader.until(() => reader.texts("#model option:checked"), ([name]) => name?.startsWith(`${state.model}:`) === true, title);
      await reader.drawn();
      if (state.image === "") await finding(new RegExp(`^‘.+’ looks at ‘.+’: (over )?[\\d.]+ % in head ${state.layer}\\.${state.head}`));
      else await reader.reads("#next >>> li .unseen", /^[a-z]+: /);
    }
  });

  test("sees the open head in the texts in which it looks hardest at another token, and opens one", async () => {
    await reader.open();
    const model = await reader.model("tiny");
    const own = kExamples.filter(({ state }) => state.model === "tiny").map(({ state }) => state);
    const texts = [...own, ...(kMore.tiny ?? [])].flatMap(({ text = "" }) => (text === kSentence ? [] : [text]));
    const hardest = texts.map((text) => {
      using attention = model.attend(text);
      const { data } = attention.map(3, 4);
      const width = attention.tokens.length;
      const isOther = (_: number, at: number): boolean => {
        const [row, col] = [Math.floor(at / width), at % width];
        return row > 0 && col > 0 && row !== col; // the first token, <s>, counts on neither side
      };
      const most = Math.max(...[...data].filter(isOther));
      return { text, most, query: String(Math.floor(data.indexOf(most) / width)) };
    }).sort((a, b) => b.most - a.most).slice(0, 3);
    await reader.page.$eval("#elsewhere", (section) => section.scrollIntoView());
    const findings = await reader.until(() => reader.texts("#elsewhere >>> .sentence-finding"), ({ length }) => length === 3, "three findings");
    const shown = await reader.page.$$eval("#elsewhere attention-map", (maps) => maps.map((map) => {
      const { text, query, layer, head } = map;
      return { text, query, place: `${layer}.${head}` };
    }));
    expect(shown).toEqual(hardest.map(({ text, query }) => ({ text, query, place: "3.4" })));
    hardest.forEach(({ most }, index) => expect(Math.abs((numbersIn(findings[index] ?? "").at(0) ?? NaN) - 100 * most), findings[index]).toBeLessThan(0.11));
    await reader.click("button", `Open “${hardest[1]?.text ?? ""}”`);
    await finding(new RegExp(`^${findings[1]?.split(" %")[0] ?? ""} %`));
    await reader.until(() => reader.texts("#elsewhere >>> .sentence-finding"), (now) => now.length === 3 && !now.includes(findings[1] ?? ""), "other texts");
    await reader.reads("#elsewhere-note", /another token\.$/);
    await reader.open("#ablate=1.2");
    await reader.page.$eval("#elsewhere", (section) => section.scrollIntoView());
    await reader.reads("#elsewhere-note", /They show the model without your changes\.$/);
  });

  test("writes another text, and the sentence, the maps and the predictions follow every letter", async () => {
    await reader.open();
    await reader.click("button", "Edit text");
    await reader.fill("Your text", "Anna saw Ben and", "#sentence");
    await reader.reads("#next >>> .next-title", "After ‘and’, the model expects");
    using attention = (await reader.model("tiny")).attend("Anna saw Ben and");
    const [best] = attention.predictions({ position: attention.tokens.length - 1, top: 1 });
    await reader.reads("#next >>> li:first-child .unseen", `‘${best?.token.trim()}’: ${(100 * (best?.probability ?? NaN)).toFixed(1)} %`);
    await reader.press("Escape");
    expect(await reader.texts("#sentence >>> .sentence-token")).toEqual(attention.tokens.map((token) => token.trim()));
  });

  test("does everything by keyboard: text, tokens, grid, head, cells, tabs, silence, and back", async () => {
    await reader.open();
    const { page } = reader;
    /** Presses Tab, or Shift+Tab, until what has the focus has this name. */
    const tabTo = async (name: string, key = "Tab"): Promise<void> => {
      for (let step = 0; step < 60; step++) {
        if ((await reader.focused()).includes(name)) return;
        await reader.press(key);
      }
      throw new Error(`Tab never came to ${name}`);
    };
    await tabTo("Edit text");
    await reader.press("Enter");
    await reader.until(() => page.$("#sentence >>> textarea:focus"), (field) => field !== null, "a field to write in");
    await page.keyboard.type("The boy saw the girl and");
    await reader.reads("#next >>> .next-title", "After ‘and’");
    await reader.press("Control+a");
    await page.keyboard.type(kSentence);
    await finding(/^‘and’ looks at ‘queen’/);
    await reader.press("Escape");
    await tabTo("‘and’");
    await reader.press("ArrowRight", "p");
    await finding(/^‘she’ looks at/);
    await reader.press("Escape");
    await tabTo("Layer 3, head 4");
    await reader.press("ArrowUp", "Enter");
    await reader.reads("#map >>> .title", "2.4");
    await reader.until(() => reader.focused(), (name) => /^Layer 2, head 4: .*Arrow keys move/.test(name) || name.startsWith("Layer 2, head 4"), "the focus");
    await tabTo("Effect");
    await reader.press("Enter");
    await tabTo("Silence this head");
    await reader.press("s");
    await reader.reads("#map >>> .changes", "head 2.4 silenced");
    await reader.press("s");
    await reader.until(() => page.$("#map >>> .changes"), (changes) => changes === null, "no change");
    await reader.press("?");
    await reader.reads("#keys[open]", "silences the open head");
    await reader.press("Escape");
    await tabTo("Layer 2, head 4", "Shift+Tab");
    await reader.press("Home", "ArrowDown", "Enter");
    await reader.reads("#map >>> .title", "3.0");
  });

  test("moves through a map by keys: cells, pins, the next head, zoom, and back to the grid", async () => {
    await reader.open(`#text=${encodeURIComponent(Array<string>(6).fill(kSentence).join(" "))}`);
    await reader.click("button", "Layer 3, head 4", "#grid");
    await (await reader.find("part", "Layer 3, head 4", "#map")).focus();
    await reader.press("Control+Home", "ArrowDown", "ArrowDown", "ArrowRight");
    await reader.reads("#map >>> .readout", "query ‘queen’ → key ‘The’:");
    await reader.press("p");
    await reader.until(() => reader.page.$$("#map >>> .pinned"), ({ length }) => length === 1, "a pinned row");
    await reader.press("Shift+ArrowDown", "+", "+");
    await reader.until(() => reader.page.$("#map >>> .cells.zoomed"), (zoomed) => zoomed !== null, "a zoomed map");
    await reader.press("0", "]");
    await reader.reads("#map >>> .title", "3.5");
    await reader.press("[", "Escape");
    await reader.until(() => reader.page.$$("#map >>> .pinned"), ({ length }) => length === 0, "nothing pinned");
    await reader.press("Escape");
    await reader.until(() => reader.focused(), (name) => name.startsWith("Layer 3, head 4"), "the grid's head");
  });

  test("opens exactly what was shared, goes back and forward, and is told what a link cannot hold", async () => {
    await reader.open();
    const { page } = reader;
    await reader.click("button", "laughed", "#sentence");
    await finding(/^‘laughed’ looks at/);
    await reader.click("button", "Why", "#map");
    const before = await reader.reads("#map >>> .why-sentence", /^‘laughed’ looks at/);
    await reader.unfold("Settings", "#map");
    await reader.slide("temperature", ["ArrowRight"], "#map");
    await reader.reads("#map >>> .changes", "temperature 1.2");
    const said = await reader.until(async () => (await reader.texts("#map >>> .why-sentence")).join(), (words) => words.startsWith("‘laughed’") && words !== before, "another weight");
    await reader.until(() => page.evaluate(() => location.hash), (hash) => /query=8.*temperature=1\.2|temperature=1\.2.*query=8/.test(hash), "the address");
    const address = await page.evaluate(() => location.hash);
    await reader.open();
    await finding(/^‘and’ looks at ‘queen’/);
    await reader.open(address);
    await reader.reads("#map >>> .why-sentence", said);
    await reader.reads("#map >>> .changes", "temperature 1.2");
    expect(await page.$$eval("#map >>> .tabs button[aria-pressed=true]", (tabs) => tabs.map(({ textContent }) => textContent))).toEqual(["Why"]);
    await reader.choose("model", "tiny-bert");
    await finding(/^‘eggs’ looks at ‘eggs’/);
    await reader.until(() => page.evaluate(() => location.hash), (hash) => hash.includes("model=tiny-bert"), "the address");
    await page.goBack();
    await reader.reads("#map >>> .why-sentence", said);
    await page.goForward();
    await finding(/^‘eggs’ looks at ‘eggs’/);
    await reader.click("button", "Share");
    await reader.click("button", "Copy link");
    await reader.until(() => reader.texts("#note"), ([note = ""]) => note === "Copied." || note === page.url(), "a copied link");
    await reader.click("button", "Share");
    await reader.open("#needs=model&text=Anna");
    await reader.reads("#note", "This address could not hold the model. Please give it once more.");
  });

  test("saves a map as SVG, PNG, CSV, JSON, NumPy and a page", async () => {
    await reader.open("#query=&key=");
    const { folder } = reader;
    await reader.unfold("Export", "#map");
    for (const kind of ["SVG", "PNG", "CSV", "JSON", "NumPy", "page"]) {
      await reader.click("button", kind, "#map >>> .export");
      await reader.reads("#map >>> .export [role=status]", `Saved as attention.${kind === "NumPy" ? "npy" : kind === "page" ? "html" : kind.toLowerCase()}`);
    }
    await reader.until(() => Promise.resolve(readdirSync(folder).filter((name) => /^attention\.\w+$/.test(name))), ({ length }) => length === 6, "six files");
    const [csv, html, json, npy, png, svg] = ["csv", "html", "json", "npy", "png", "svg"].map((name) => readFileSync(join(folder, `attention.${name}`)));
    using attention = (await reader.model("tiny")).attend(kSentence);
    const { data } = attention.map(3, 4);
    const { weights } = JSON.parse(String(json)) as { weights: (number | null)[][][][] };
    weights.flat(3).forEach((value, index) =>
      expect(Math.abs((value ?? 0) - (data[index] ?? NaN)), `cell ${index}`).toBeLessThan(1e-4));
    expect(String(csv).trim().split("\n").length).toBeGreaterThan(50);
    expect(npy?.subarray(1, 6).toString()).toBe("NUMPY");
    expect(PNG.sync.read(png as Buffer).width).toBeGreaterThan(300);
    expect(String(svg)).toContain("queen");
    expect(String(html)).toContain("<attention-map");
    await reader.click("button", "copy embed code", "#map >>> .export");
    await reader.reads("#map >>> .export [role=status]", /Copied\.|Copy these lines:/);
  });
}
