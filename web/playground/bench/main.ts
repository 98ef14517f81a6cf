// SPDX-License-Identifier: Apache-2.0
import "./trusted-types.js";
import { html, nothing, render } from "lit";
import type { TemplateResult } from "lit";
import { aboutOf, digits, fromHash, rounded, roundedRow, speedOf, toHash, toJson, toText } from "./result.js";
import type { Result, RowResult } from "./result.js";
import { kWorkloads } from "./workloads.js";
import type { Workload } from "./workloads.js";
import type { Message } from "./worker.js";

const root = document.getElementById("bench");
if (!root) throw new Error("#bench is missing");
const page = root;

/** A run that has started. */
interface Run {
  readonly worker: Worker;
  readonly names: readonly string[];
  done: number;
  part: number;
}

const chosen = new Set(kWorkloads.filter(({ isLong }) => !isLong).map(({ name }) => name));
let run: Run | undefined;
let result: Result | undefined;
/** True when the result came with the address, from any browser. */
let isOpened = false;
const failed = new Map<string, string>();
/** The status, which is also read aloud. */
let status = "";

function update(): void {
  render(view(), page);
  document.documentElement.dataset.state = run ? "running" : "idle";
}

function view(): TemplateResult {
  const hasRows = result !== undefined && result.rows.length > 0;
  return html`
    <form @submit=${start}>
      <div class="buttons">
        ${run
          ? html`<button type="button" class="main" @click=${cancel}>Stop</button>`
          : html`<button class="main" ?disabled=${chosen.size === 0}>Measure</button>`}
        ${result && hasRows && !run ? shares(result) : nothing}
      </div>
      <p class="quiet" role="status">${status === "" ? `${chosen.size} of ${kWorkloads.length} rows are chosen.` : status}</p>
      <progress aria-label="Measuring" class=${run ? "" : "idle"} max=${run?.names.length ?? 1} .value=${run ? run.done + run.part : 0}></progress>
      ${table()}
    </form>
    ${result && hasRows ? html`<div class="about quiet">${aboutOf(result).map((text) => html`<p>${text}</p>`)}</div>` : nothing}
  `;
}

const shares = (what: Result): TemplateResult => html`
  <button type="button" @click=${(): void => share(what)}>Copy a link to it</button>
  <button type="button" @click=${(): void => copy(toText(what), "The text")}>Copy as text</button>
  <button type="button" @click=${(): void => copy(toJson(what), "The JSON")}>Copy as JSON</button>
  <button type="button" @click=${(): void => download(what)}>Download JSON</button>
`;

function table(): TemplateResult {
  const measured = new Map(result?.rows.map((row) => [row.name, row]));
  const rows = isOpened ? kWorkloads.filter(({ name }) => measured.has(name)) : kWorkloads;
  return html`
    <table>
      <caption class=${isOpened ? "" : "unseen"}>${isOpened ? "A result from this address" : "This browser"}</caption>
      <thead>
        <tr>
          <th scope="col">${isOpened ? "row" : everyRow()}</th><th scope="col">median ms</th><th scope="col" class="less">min ms</th>
          <th scope="col" class="less">middle half ms</th><th scope="col">speed</th><th scope="col">of the limit</th>
        </tr>
      </thead>
      <tbody>${rows.map((workload) => line(workload, measured.get(workload.name)))}</tbody>
    </table>
  `;
}

/** A box that chooses all rows but the longest, or none. */
function everyRow(): TemplateResult {
  const usual = kWorkloads.filter(({ isLong }) => !isLong);
  const count = usual.filter(({ name }) => chosen.has(name)).length;
  const choose = ({ target }: Event): void => {
    chosen.clear();
    if ((target as HTMLInputElement).checked) for (const { name } of usual) chosen.add(name);
    update();
  };
  return html`<label><input type="checkbox" name="all" .checked=${count === usual.length} .indeterminate=${count > 0 && count < usual.length}
    ?disabled=${run !== undefined} @change=${choose} /> all but the longest</label>`;
}

function line(workload: Workload, row: RowResult | undefined): TemplateResult {
  const { name } = workload;
  const isNow = run?.names[run.done] === name;
  const message = failed.get(name);
  const values = row ? numbers(row, result?.limit ?? NaN)
    : message !== undefined ? html`<td class="failed" colspan="5">${message}</td>`
    : html`<td class="quiet">${isNow ? "…" : ""}</td><td class="less"></td><td class="less"></td><td></td><td></td>`;
  return html`<tr class=${row ? "measured" : ""} aria-current=${isNow ? "true" : nothing}><th scope="row">${choice(workload)}</th>${values}</tr>`;
}

function choice({ name, about, isLong }: Workload): TemplateResult {
  const words = html`<span>${name} <small>${about}${isLong ? ": takes a minute or more" : ""}</small></span>`;
  if (isOpened) return words;
  const onChange = ({ target }: Event): void => {
    if ((target as HTMLInputElement).checked) chosen.add(name);
    else chosen.delete(name);
    update();
  };
  return html`<label><input type="checkbox" name=${name} .checked=${chosen.has(name)} ?disabled=${run !== undefined} @change=${onChange} /> ${words}</label>`;
}

const milliseconds = (seconds: number): string => digits(1000 * seconds);

function numbers(row: RowResult, limit: number): TemplateResult {
  const { gflops, gigabytes, share } = speedOf(row, limit);
  const percent = Math.round(100 * share);
  const meter = html`${percent} %<meter aria-label="Of the limit" max="100" .value=${percent}></meter>`;
  return html`
    <td>${milliseconds(row.median)}</td>
    <td class="less">${milliseconds(row.min)}</td>
    <td class="less">${milliseconds(row.lower)} … ${milliseconds(row.upper)}</td>
    <td class="speed">${gigabytes === undefined ? `${digits(gflops)} GFLOP/s` : `${digits(gigabytes)} GB/s`}</td>
    <td class="share">${gigabytes === undefined ? meter : "–"}</td>
  `;
}

function say(text: string): void {
  status = text;
  update();
}

function start(event: Event): void {
  event.preventDefault();
  if (run || chosen.size === 0) return;
  const names = kWorkloads.map(({ name }) => name).filter((name) => chosen.has(name));
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "bench" });
  run = { worker, names, done: 0, part: 0 };
  result = undefined;
  isOpened = false;
  failed.clear();
  worker.addEventListener("message", ({ data }: MessageEvent<Message>) => follow(data));
  worker.addEventListener("error", ({ message }) => end(`It failed: ${message || "the worker could not be loaded"}`));
  worker.postMessage(names);
  say("Starting …");
}

function end(text: string): void {
  run?.worker.terminate();
  run = undefined;
  say(text);
}

function cancel(): void {
  end(`Stopped after ${result?.rows.length ?? 0} of ${run?.names.length ?? 0}.`);
}

function follow(message: Message): void {
  if (!run) return;
  switch (message.kind) {
    case "ready": {
      const { version, simd, threads } = message.info;
      const browser = navigator.userAgent.replaceAll(/[^ -~]/g, "?").slice(0, 300);
      const cores = navigator.hardwareConcurrency;
      const date = new Date().toISOString();
      result = { date, browser, cores, version, simd, threads, limit: rounded(message.limit), rows: [] };
      return update();
    }
    case "progress":
      run.part = message.part;
      return say(`${run.done + 1} of ${run.names.length}: ${message.name} …`);
    case "row":
      if (result) result = { ...result, rows: [...result.rows, roundedRow(message.row)] };
      break;
    case "failed":
      failed.set(message.name, message.message);
      break;
    case "done":
      return end(`Done: ${run.names.length - failed.size} measured${failed.size > 0 ? `, ${failed.size} failed` : ""}.`);
  }
  run.done++;
  run.part = 0;
  update();
}

function copy(text: string, what: string): void {
  navigator.clipboard.writeText(text).then(
    () => say(`${what} is on the clipboard.`),
    () => say("This browser does not let the page write to the clipboard."),
  );
}

function download(what: Result): void {
  const url = URL.createObjectURL(new Blob([toJson(what)], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: "headlens-bench.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url));
  say("The JSON is being downloaded.");
}

/** Puts the result into the page's address, from where it can be copied, too. */
function share(what: Result): void {
  history.replaceState(null, "", toHash(what));
  copy(location.href, "A link to this result");
}

function readHash(): void {
  const opened = fromHash(location.hash);
  if (opened === null || run) return update();
  result = opened;
  isOpened = opened !== undefined;
  failed.clear();
  const isOurs = "This result was opened from the address; “Measure” takes your own.";
  say(opened ? isOurs : "The address holds no result that this page can read.");
}

window.addEventListener("hashchange", readHash);
readHash();
