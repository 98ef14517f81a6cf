// SPDX-License-Identifier: Apache-2.0
/** All results as one HTML page that needs no other files: tables, and plots as SVG. */

const kEscapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A piece of HTML that is already escaped. */
class Html {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

function inserted(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(inserted).join("");
  return value === undefined || value === false ? "" : String(value).replace(/[&<>"']/g, (character) => kEscapes[character]);
}

/** HTML in which inserted values are escaped, unless they are HTML themselves. */
export const html = (strings, ...values) =>
  new Html(strings.map((part, i) => i < values.length ? part + inserted(values[i]) : part).join(""));

const kPlaces = { native: "Native", node: "WebAssembly in Node", chromium: "WebAssembly in Chromium" };
const isOurs = ({ name }) => name.startsWith("headlens");
const labelOf = ({ name, variant }) => variant ? `${name} (${variant})` : name;

function time(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${seconds.toPrecision(3)} s`;
}
const mebibytes = (bytes) => bytes && `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 24 ? 1 : 0)} MiB`;
const byWorkload = (rows) => [...new Set(rows.map(({ workload }) => workload))]
  .map((workload) => [workload, rows.filter((row) => row.workload === workload)]);

/** A bar for each contestant under its name, whose length is the speed, with a line at the limit. */
function bars(rows) {
  const [width, height] = [420, 34];
  const limit = Math.max(...rows.map(({ limit_gflops }) => limit_gflops ?? 0));
  const most = Math.max(limit, ...rows.map(({ gflops }) => gflops)) * 1.02;
  const x = (value) => ((value / most) * width).toFixed(1);
  const bar = (row, i) => html`<text x="0" y="${i * height + 13}">${labelOf(row)} <tspan class="strong">${row.gflops.toFixed(1)}</tspan></text>
<rect class="${isOurs(row) ? "ours" : "peer"}" x="0" y="${i * height + 18}" width="${x(row.gflops)}" height="10"/>`;
  const [best] = [...rows].sort((a, b) => b.gflops - a.gflops);
  const line = limit > 0 && html`<line class="limit" x1="${x(limit)}" x2="${x(limit)}" y1="0" y2="${rows.length * height}"/>`;
  return html`<svg class="bars" viewBox="0 0 ${width} ${rows.length * height}" role="img" aria-label="GFLOP/s of each; the fastest is ${labelOf(best)}">
${rows.map(bar)}${line}</svg>`;
}

function ratiosOf({ ratios }) {
  return Object.entries(ratios).map(([peer, { median, quartiles: [low, high] }]) =>
    html`<div><b>${median.toFixed(2)} ×</b> ${peer} <small>${low.toFixed(2)}–${high.toFixed(2)}</small></div>`);
}

function tableRow(row) {
  const speed = row.gbps ? `${row.gflops.toFixed(1)} · ${row.gbps.toFixed(1)} GB/s` : row.gflops.toFixed(1);
  return html`<tr class="${isOurs(row) ? "own" : ""}"><th scope="row">${labelOf(row)}</th><td>${time(row.seconds)}</td><td>${time(row.min)}</td>
<td>${row.quartiles.map(time).join(" – ")}</td><td>${speed}</td><td>${row.limit_percent && `${row.limit_percent.toFixed(0)} %`}</td>
<td>${mebibytes(row.peak_bytes)}</td><td class="ratios">${ratiosOf(row)}</td></tr>`;
}

function workloadSection([workload, rows]) {
  const [{ tried }] = rows;
  return html`<section><h3>${workload}</h3>${bars(rows)}
<div class="scroll" tabindex="0" role="region" aria-label="${workload}: figures"><table><thead><tr><th scope="col">who</th><th scope="col">median</th>
<th scope="col">least</th><th scope="col">middle half</th><th scope="col">GFLOP/s</th><th scope="col">of the limit</th><th scope="col">peak memory</th>
<th scope="col">faster than</th></tr></thead><tbody>${rows.map(tableRow)}</tbody></table></div>
${tried.length > 0 && html`<details><summary>the peers' graphs</summary><ul>${tried.map((line) => html`<li>${line}</li>`)}</ul></details>`}</section>`;
}

/** Ticks at powers of two for sizes, and at round numbers for speeds. */
function ticks(most) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200].find((candidate) => most / candidate <= 6) ?? most / 5;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** GFLOP/s over the size that varies, with one line for each contestant and a dashed line for its limit. */
function sweepPlot(title, axis, rows) {
  const [width, height, left, bottom] = [440, 270, 34, 36];
  const sizes = rows.map(({ size }) => size);
  const most = Math.max(...rows.flatMap(({ gflops, limit_gflops }) => [gflops, limit_gflops ?? 0])) * 1.05;
  const [low, high] = [Math.log2(Math.min(...sizes)), Math.log2(Math.max(...sizes))];
  const x = (size) => (left + ((Math.log2(size) - low) / (high - low || 1)) * (width - left - 10)).toFixed(1);
  const y = (gflops) => (height - bottom - (gflops / most) * (height - bottom - 10)).toFixed(1);
  const powers = Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, i) => 2 ** (Math.ceil(low) + i));
  const series = [...new Set(rows.map(({ label }) => label))]
    .map((label) => rows.filter((row) => row.label === label).sort((a, b) => a.size - b.size));
  return html`<figure><figcaption>${title}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
${ticks(most).map((value) => html`<line class="grid" x1="${left}" x2="${width - 10}" y1="${y(value)}" y2="${y(value)}"/><text class="end" x="${left - 5}" y="${y(value)}" dy="4">${value}</text>`)}
${powers.map((size) => html`<text class="middle" x="${x(size)}" y="${height - bottom + 16}">${size}</text>`)}
<text class="middle" x="${(left + width) / 2}" y="${height - 4}">${axis}</text>
${series.map((points, i) => html`<g class="series${i % 4}"><line class="limit" x1="${left}" x2="${width - 10}" y1="${y(points[0].limit_gflops ?? 0)}" y2="${y(points[0].limit_gflops ?? 0)}"/>
<polyline points="${points.map(({ size, gflops }) => `${x(size)},${y(gflops)}`).join(" ")}"/>
${points.map(({ size, gflops }) => html`<circle cx="${x(size)}" cy="${y(gflops)}" r="3"><title>${size}: ${gflops.toFixed(1)} GFLOP/s</title></circle>`)}</g>`)}
</svg><ul class="legend">${series.map((points, i) => html`<li class="series${i % 4}">${points[0].label}</li>`)}</ul></figure>`;
}

const kAxes = {
  tokens: ["Over the length: eight heads of width 64, causal", "tokens"],
  head_dim: ["Over the width of a head: eight heads, 1024 tokens, causal", "head width d"],
};

function sweepSection(rows) {
  const points = rows.map((row) => {
    const [, varied, size] = row.workload.split("/");
    return { ...row, varied, size: Number(size), label: `${labelOf(row)}, ${kPlaces[row.in]}` };
  });
  const plots = Object.entries(kAxes).map(([varied, [title, axis]]) => {
    const own = points.filter((point) => point.varied === varied);
    return own.length > 0 && sweepPlot(title, axis, own);
  });
  return html`<h2 id="sweeps">Sweeps</h2><p>GFLOP/s, counted as above. Dashed: the limit.</p>${plots}`;
}

/** The most important figures: the speed relative to each peer, for all workloads of one place in one table. */
function overview(rows) {
  const own = rows.filter((row) => isOurs(row) && Object.keys(row.ratios).length > 0);
  if (own.length === 0) return undefined;
  const most = Math.max(2, ...own.flatMap((row) => Object.values(row.ratios).map(({ median }) => Math.min(median, 8))));
  const bar = (median) => html`<span class="track"><span class="${median >= 1 ? "ours" : "slower"}" style="width:${((100 * Math.min(median, most)) / most).toFixed(1)}%"></span></span>`;
  return html`<h2 id="overview">Times as fast as</h2><div class="scroll" tabindex="0" role="region" aria-label="Times as fast as"><table class="overview"><tbody>
${own.flatMap((row) => Object.entries(row.ratios).map(([peer, { median }]) =>
    html`<tr><th scope="row">${row.workload}</th><td>${row.name.replace(/^headlens /, "")}${row.in === "chromium" && " in Chromium"}</td><td>${peer}</td><td><b>${median.toFixed(2)}</b></td><td class="bar">${bar(median)}</td></tr>`))}
</tbody></table></div>`;
}

const kStyle = `
:root { color-scheme: light dark; --ink: #1c1c28; --soft: #5b5b6b; --ground: #ffffff; --line: #d9d9e3; --ours: #3b5bdb; --peer: #9a9aac; --limit: #c2410c;
  --s0: #3b5bdb; --s1: #0f766e; --s2: #b45309; --s3: #9d174d; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf4; --soft: #a9a9bb; --ground: #14141c; --line: #34343f; --ours: #8ea2ff; --peer: #6f6f82; --limit: #fb923c;
  --s0: #8ea2ff; --s1: #5eead4; --s2: #fbbf24; --s3: #f9a8d4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem; } h3 { margin: 1.5rem 0 .25rem; font-size: 1.05rem; }
p, dl, summary, figcaption { color: var(--soft); } nav a { margin-right: 1rem; } a { color: var(--ours); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .9rem; } dd { margin: 0; overflow-wrap: anywhere; color: var(--ink); }
svg { display: block; width: 100%; max-width: 44rem; height: auto; margin: .5rem 0; font-size: 12px; fill: var(--ink); } .bars { max-width: 30rem; }
.strong { font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; } rect.ours, .track .ours { fill: var(--ours); background: var(--ours); } rect.peer { fill: var(--peer); }
.slower { background: var(--limit); } line.limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 4 3; } .grid { stroke: var(--line); }
.series0 { --s: var(--s0); } .series1 { --s: var(--s1); } .series2 { --s: var(--s2); } .series3 { --s: var(--s3); }
polyline { fill: none; stroke: var(--s); stroke-width: 2; } circle { fill: var(--s); } g line.limit { stroke: var(--s); opacity: .6; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.5rem; margin: 0; padding: 0; list-style: none; font-size: .9rem; }
.legend li::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 50%; background: var(--s); }
figure { margin: 1rem 0; } figure svg { overflow: visible; } .scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; white-space: nowrap; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; } tbody th { font-weight: 400; } .own th { font-weight: 600; }
td { font-variant-numeric: tabular-nums; } small { color: var(--soft); } .overview { width: 100%; white-space: normal; } .bar { width: 30%; min-width: 4rem; }
.track { display: block; height: .8em; margin-top: .35em; background: var(--line); } .track span { display: block; height: 100%; } li { overflow-wrap: anywhere; }
`;

function aboutSection(about) {
  const lines = {
    machine: `${about.cpu_model}, ${about.num_cpus} processors, load ${about.load_avg.map((load) => load.toFixed(1)).join(", ")} at the start`,
    threads: about.threads, "native instruction set": about.simd_target, Node: `${about.node} (V8 ${about.v8})`, Chromium: about.chromium,
    headlens: `${about.headlens_version}, ${about.commit.slice(0, 12)}${about.modified ? " with changes" : ""}`,
    peers: Object.entries(about.peers).map(([name, version]) => `${name} ${version}`).join(", "), date: about.date,
  };
  return html`<dl>${Object.entries(lines).filter(([, value]) => value !== undefined).map(([key, value]) => html`<dt>${key}</dt><dd>${value}</dd>`)}</dl>`;
}

/** The whole page. */
export function reportOf(about, rows) {
  const isSweep = ({ workload }) => workload.startsWith("sweep/");
  const workloads = rows.filter((row) => !isSweep(row));
  const points = rows.filter(isSweep);
  const first = overview(workloads);
  const places = Object.entries(kPlaces).filter(([place]) => workloads.some((row) => row.in === place));
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>headlens: benchmark</title>
<style>${new Html(kStyle)}</style></head><body><h1>headlens, measured</h1>
<p>fp32, random normal numbers. Contestants take turns; a ratio is the median of the rounds' own. Every result was first held against double precision.
FLOPs: projections 8·B·T·D², attention 4·B·H·T·S·d, half of that when causal. The limit is what multiply-adds on registers alone reach in the same rounds.</p>
<nav aria-label="Parts">${first && html`<a href="#overview">Overview</a>`}${places.map(([place, name]) => html`<a href="#${place}">${name}</a>`)}${points.length > 0 && html`<a href="#sweeps">Sweeps</a>`}</nav>
${aboutSection(about)}${first}
${places.map(([place, name]) => html`<h2 id="${place}">${name}</h2>${byWorkload(workloads.filter((row) => row.in === place)).map(workloadSection)}`)}
${points.length > 0 && sweepSection(points)}</body></html>
`.text;
}
