// SPDX-License-Identifier: Apache-2.0
/** The page of the benchmark: it measures short rows, shows their results, and an address cannot do any harm. */
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fromHash, toHash, toJson, toText } from "../../web/playground/bench/result.js";
import type { Result } from "../../web/playground/bench/result.js";
import { bytes, kWorkloads, operations } from "../../web/playground/bench/workloads.js";
import { axe, desktop, holds, launchShell, open, phone, root, seen, servePlayground, texts } from "./browser.js";
import type { Served, View } from "./browser.js";

const kResult: Result = {
  date: "2026-01-02T03:04:05.678Z",
  browser: "Mozilla/5.0 (X11; Linux x86_64) <b>&amp;</b>",
  cores: 8,
  version: "0.1.0",
  simd: "relaxed",
  threads: 1,
  limit: 50,
  rows: [
    { name: "bert/maps", median: 0.02, min: 0.019, lower: 0.0195, upper: 0.021, rounds: 15, calls: 2 },
    { name: "decode", median: 0.002, min: 0.002, lower: 0.002, upper: 0.002, rounds: 15, calls: 16 },
  ],
};

interface Row {
  name: string;
  kind: string;
  [size: string]: unknown;
}

test("the workloads are those of the command line", () => {
  const table = JSON.parse(readFileSync(join(root, "native/bench/workloads.json"), "utf8")) as { workloads: Row[] };
  const shared = table.workloads.filter(({ name }) => !name.startsWith("gpt2/"));
  const names = shared.flatMap(({ name, kind }) => (kind === "layer" ? [`${name}/maps`, `${name}/no_maps`] : [name]));
  expect(kWorkloads.map(({ name }) => name)).toEqual(names);
  const words = { kv_heads: "kvHeads", head_dim: "headDim", keys_and_values: "keysAndValues" } as Record<string, string>;
  for (const row of kWorkloads) {
    const given = shared.find(({ name }) => name === row.name.replace(/\/(no_)?maps$/, ""));
    for (const [size, value] of Object.entries(given ?? {})) {
      if (size === "name" || size === "model") continue;
      expect(row, row.name).toHaveProperty(words[size] ?? size, value);
    }
  }
});

test("operations are 8·B·T·D² and 4·B·H·T·S·d, half when causal", () => {
  const of = (name: string): [number, number] => {
    const row = kWorkloads.find((workload) => workload.name === name);
    if (!row) throw new Error(`no ${name}`);
    return [operations(row), bytes(row)];
  };
  expect(of("bert/maps")).toEqual([8 * 128 * 768 ** 2 + 4 * 128 ** 2 * 768, 0]);
  expect(of("batch/no_maps")).toEqual([8 * (8 * 128 * 512 ** 2 + 4 * 128 ** 2 * 512), 0]);
  expect(of("gpt1k/maps")).toEqual([8 * 1024 * 768 ** 2 + 2 * 1024 ** 2 * 768, 0]);
  expect(of("gqa")).toEqual([2 * 32 * 512 ** 2 * 128, 0]);
  expect(of("decode")).toEqual([4 * 12 * 4096 * 64, 2 * 12 * 4096 * 64 * 4]);
  expect(of("decode/bf16")).toEqual([4 * 12 * 4096 * 64, 2 * 12 * 4096 * 64 * 2]);
  expect(of("decode/gqa")).toEqual([4 * 32 * 4096 * 128, 2 * 8 * 4096 * 128 * 4]);
});

describe("a result in an address", () => {
  const hashOf = (value: unknown): string =>
    `#result=${btoa(JSON.stringify(value)).replace(/\+/g, "-").replace(/\//g, "_")}`;
  const parts = (): unknown[] => {
    const base64 = toHash(kResult).slice(8).replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(atob(base64)) as unknown[];
  };

  test("comes back as it was", () => {
    expect(fromHash(toHash(kResult))).toEqual(kResult);
    expect(fromHash("")).toBeNull();
    expect(fromHash("#text=x")).toBeNull();
  });

  test("holds every row there is", () => {
    const times = { median: 0.0199876, min: 0.0191234, lower: 0.0195678, upper: 0.0212345 };
    const rows = kWorkloads.map(({ name }) => ({ name, ...times, rounds: 15, calls: 1234 }));
    const all = { ...kResult, browser: "x".repeat(300), rows };
    expect(fromHash(toHash(all))?.rows.map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
  });

  test.each<[string, (value: unknown[]) => unknown]>([
    ["no list", () => ({})],
    ["null", () => null],
    ["another version", (value) => value.with(0, 2)],
    ["more than there is", (value) => [...value, 1]],
    ["a date that is none", (value) => value.with(1, "<img src=x onerror=alert(1)>")],
    ["a browser of other characters", (value) => value.with(2, "\u0000")],
    ["a browser without end", (value) => value.with(2, "x".repeat(301))],
    ["cores that are no number", (value) => value.with(3, "8")],
    ["a version of markup", (value) => value.with(4, "<b>")],
    ["another build", (value) => value.with(5, "simd")],
    ["no threads", (value) => value.with(6, 0)],
    ["a limit of 0", (value) => value.with(7, 0)],
    ["a limit that is null", (value) => value.with(7, null)],
    ["no rows", (value) => value.with(8, [])],
    ["an unknown row", (value) => value.with(8, [["nonsense", 1, 1, 1, 1, 1, 1]])],
    ["an inherited name", (value) => value.with(8, [["constructor", 1, 1, 1, 1, 1, 1]])],
    ["a row twice", (value) => value.with(8, [["decode", 1, 1, 1, 1, 1, 1], ["decode", 1, 1, 1, 1, 1, 1]])],
    ["times out of order", (value) => value.with(8, [["decode", 1, 2, 1, 1, 1, 1]])],
    ["a negative time", (value) => value.with(8, [["decode", 1, -1, 1, 1, 1, 1]])],
    ["half a round", (value) => value.with(8, [["decode", 1, 1, 1, 1, 0.5, 1]])],
    ["a thousand rows", (value) => value.with(8, Array(1000).fill(["decode", 1, 1, 1, 1, 1, 1]))],
  ])("is refused: %s", (_, change) => expect(fromHash(hashOf(change(parts())))).toBeUndefined());

  test.each(["", "!!!", "e30", "%00", "A".repeat(20_000)])("is refused when it is no JSON in base64: %.20s", (text) =>
    expect(fromHash(`#result=${text}`)).toBeUndefined(),
  );
});

test("as JSON it is Google Benchmark's, as text it is lines", () => {
  const json = JSON.parse(toJson(kResult)) as { context: object; benchmarks: Record<string, unknown>[] };
  const { context, benchmarks } = json;
  const { date } = kResult;
  expect(context).toMatchObject({ date, num_cpus: 8, headlens_version: "0.1.0", multiply_add_limit_gflops: 50 });
  expect(benchmarks[0]).toMatchObject({ run_name: "bert/maps", run_type: "aggregate", real_time: 20, time_unit: "ms" });
  const gflops = (8 * 128 * 768 ** 2 + 4 * 128 ** 2 * 768) / 0.02 / 1e9;
  expect(benchmarks[0]?.["GFLOP/s"]).toBeCloseTo(gflops, 9);
  expect(benchmarks[0]?.of_limit).toBeCloseTo(gflops / 50, 9);
  expect(benchmarks[1]?.["GB/s"]).toBeCloseTo(25165824 / 0.002 / 1e9, 9);
  expect(toText(kResult)).toMatch(/^bert\/maps +20\.0 ms {3}32\.7 GFLOP\/s, 65 %$/m);
  expect(toText(kResult)).toMatch(/^decode +2\.00 ms {3}12\.6 GB\/s$/m);
});

describe("in Chromium", () => {
  let browser: Browser;
  let server: Served;
  let faults: string[] = [];

  beforeAll(async () => {
    mkdirSync(join(root, "build/screenshots"), { recursive: true });
    [browser, server] = await Promise.all([launchShell(), servePlayground()]);
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });
  afterEach(async () => {
    for (const page of await browser.pages()) if (page.url().startsWith(server.url)) await page.close();
    expect(faults.splice(0)).toEqual([]);
  });

  async function openBench(hash = "", view: View = desktop): Promise<Page> {
    const opened = await open(browser, `${server.url}bench/${hash}`, view, false);
    faults = opened.faults;
    await seen(opened.page, "button.main");
    return opened.page;
  }

  const button = (name: string): string => `button ::-p-text(${name})`;
  const idle = (page: Page): Promise<void> => holds(page, () => document.documentElement.dataset.state === "idle");

  async function measure(page: Page, ...names: string[]): Promise<void> {
    // The first click chooses all where only some were chosen.
    while (await page.$("tbody input:checked")) await page.click("input[name='all']");
    for (const name of names) await page.click(`input[name="${name}"]`);
    await page.click(button("Measure"));
  }

  test("rows are measured, shown, and reopened from their address", async () => {
    const page = await openBench();
    expect(await page.$eval("input[name='core16k']", (box) => (box).checked)).toBe(false);
    await measure(page, "tutorial/maps", "tutorial/no_maps", "map4k/strip", "decode", "decode/bf16", "tiny");
    await idle(page);
    expect(await texts(page, "[role=status]")).toEqual(["Done: 6 measured."]);
    const rows = await page.$$eval("tr.measured", (found) =>
      found.map((row) => [...row.children].map((cell) => (cell.textContent ?? "").trim())),
    );
    const names = ["tutorial/maps", "tutorial/no_maps", "decode", "decode/bf16", "map4k/strip", "tiny"];
    expect(rows.map(([head]) => head?.split(" ")[0])).toEqual(names);
    for (const [, median, min, half, speed] of rows) {
      expect(Number(median)).toBeGreaterThan(0);
      expect(Number(min)).toBeLessThanOrEqual(Number(median));
      expect(half).toMatch(/^[\d.]+ … [\d.]+$/);
      expect(speed).toMatch(/^[\d.]+ (GFLOP|GB)\/s$/);
    }
    expect(rows[2]?.slice(4)).toEqual([expect.stringMatching(/GB\/s$/), "–"]);
    expect(await texts(page, ".about p")).toEqual([
      expect.stringMatching(/^headlens \d+\.\d+\.\d+, relaxed SIMD, threads: 1 of \d+$/),
      expect.stringMatching(/^Limit: [\d.]+ GFLOP\/s/),
      expect.stringContaining("Chrome"),
      expect.stringMatching(/^\d{4}-.*Z$/),
    ]);
    await page.click(button("Copy a link to it"));
    const hash = await page.evaluate(() => location.hash);
    expect(fromHash(hash)?.rows.map(({ name }) => name)).toEqual(names);
    const again = await openBench(hash);
    expect(await again.$$("tbody tr"), "what was not measured is left out").toHaveLength(names.length);
    expect(await texts(again, "caption")).toEqual(["A result from this address"]);
    const medians = await again.$$eval("tbody td:nth-of-type(1)", (cells) => cells.map((cell) => cell.textContent));
    expect(medians).toEqual(rows.map(([, median]) => median));
  });

  test("it can be stopped, and started again", async () => {
    const page = await openBench();
    await measure(page, "tutorial/maps", "core4k");
    await holds(page, () => (document.querySelector("[role=status]")?.textContent ?? "").startsWith("2 of 2: core4k"));
    await page.click(button("Stop"));
    await idle(page);
    expect(await texts(page, "[role=status]")).toEqual(["Stopped after 1 of 2."]);
    await measure(page, "tutorial/no_maps");
    await idle(page);
    expect(await texts(page, "[role=status]")).toEqual(["Done: 1 measured."]);
    expect(await page.$$("tr.measured")).toHaveLength(1);
  });

  test("the JSON can be copied and downloaded", async () => {
    const page = await openBench(toHash(kResult));
    const folder = await mkdtemp(join(tmpdir(), "headlens-bench-"));
    const session = await page.createCDPSession();
    await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
    await page.click(button("Download JSON"));
    await expect.poll(() => readdirSync(folder)).toEqual(["headlens-bench.json"]);
    await expect.poll(() => readFileSync(join(folder, "headlens-bench.json"), "utf8")).toBe(toJson(kResult));
    await rm(folder, { recursive: true });
    await browser.defaultBrowserContext().overridePermissions(server.url, ["clipboard-read", "clipboard-sanitized-write"]);
    for (const [name, text] of [["Copy as JSON", toJson(kResult)], ["Copy as text", toText(kResult)]] as const) {
      await page.bringToFront();
      await page.click(button(name));
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    }
  });

  test("markup in an address stays text, and what is no result is refused in words", async () => {
    const page = await openBench(toHash(kResult));
    expect(await texts(page, ".about p")).toContain(kResult.browser);
    expect(await page.$$("main b, main img")).toEqual([]);
    const other = await openBench("#result=e30");
    expect(await texts(other, "[role=status]")).toEqual(["The address holds no result that this page can read."]);
    expect(await other.$$("tr.measured")).toEqual([]);
  });

  test("the playground leads there, with and without the slash", async () => {
    const { page } = await open(browser, server.url);
    await Promise.all([page.waitForNavigation(), page.click("nav a[href='./bench/']")]);
    expect(new URL(page.url()).pathname).toBe("/bench/");
    expect((await fetch(`${server.url}bench`)).url).toBe(`${server.url}bench/`);
    const { headers } = await fetch(`${server.url}bench/`);
    expect(headers.get("content-security-policy")).toContain("require-trusted-types-for 'script'");
  });

  const kCases = [
    ["desktop", "light"], ["desktop", "dark"], ["phone", "light"], ["phone", "dark"],
  ] as const;
  test.each(kCases)("%s, %s: axe finds nothing, and nothing spills", async (view, scheme) => {
    const page = await openBench(toHash(kResult), { ...(view === "phone" ? phone : desktop), scheme });
    expect(await axe(page)).toEqual([]);
    await page.screenshot({ path: join(root, `build/screenshots/${view}-${scheme}-bench.png`), fullPage: true });
    const spill = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(spill).toBeLessThanOrEqual(0);
  });

  test("the keyboard reaches all of it", async () => {
    const page = await openBench();
    await page.focus("input[name='tutorial/maps']");
    await page.keyboard.press("Space");
    expect(await page.$eval("input[name='tutorial/maps']", (box) => (box).checked)).toBe(false);
    await page.focus("input[name='all']");
    await page.keyboard.press("Space");
    expect(await page.$$("tbody input:checked"), "all but the longest").toHaveLength(kWorkloads.filter(({ isLong }) => !isLong).length);
    await page.keyboard.press("Space");
    expect(await page.$$("tbody input:checked")).toHaveLength(0);
    await page.focus("input[name='tutorial/maps']");
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter"); // as in any form
    await holds(page, () => document.querySelectorAll("tr.measured").length === 1);
    await idle(page);
  });
});
