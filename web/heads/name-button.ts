// SPDX-License-Identifier: Apache-2.0
/** The name of a head as a button, which opens what it was given for: each measurement against its threshold. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import { kNoPattern } from "./no-pattern.js";
import { kLength, kSequences } from "./probe.js";
import type { Finding, HeadName, Measured } from "./rules.js";

const kPlaces: Readonly<Record<Measured, string>> = {
  card: "the card’s probe",
  probe: `${kSequences} × ${kLength} random tokens twice`,
  text: "this input",
};

/** The distance between the button and what it opens, in pixels. */
const kGap = 4;

function row(finding: Finding): TemplateResult {
  const { name, on, value, threshold, count, metric, formula, source } = finding;
  const holds = value >= threshold;
  // The whole bar is 1, which is the most of every metric of a rule.
  const width = `width: ${Math.max(0, Math.min(value, 1)) * 100}%`;
  const mark = `inset-inline-start: ${threshold * 100}%`;
  return html`
    <li class=${holds ? "" : "missed"}>
      <p class="reason-name"><strong>${name}</strong> <span>${formatValue(value, 2)} ${holds ? "≥" : "<"} ${formatValue(threshold, 2)}</span></p>
      <div class="reason-bar" aria-hidden="true"><i .style=${width}></i><b .style=${mark}></b></div>
      <p>${metric === undefined ? formula : html`<code>${formula}</code>`}</p>
      <p class="reason-source">${metric === undefined ? nothing : html`${metric}, `}on ${kPlaces[on]} (${count} ${on === "card" ? "items" : "rows"}). Source: ${source}</p>
    </li>
  `;
}

/** Puts the popover below its button, and into the window. */
function place(event: ToggleEvent): void {
  const popover = event.target;
  if (event.newState !== "open" || !(popover instanceof HTMLElement)) return;
  const button = popover.parentElement?.querySelector("button");
  if (!button) return;
  const { left, bottom } = button.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  popover.style.left = `${Math.max(kGap, Math.min(left, innerWidth - width - kGap))}px`;
  popover.style.top = `${Math.max(kGap, Math.min(bottom + kGap, innerHeight - height - kGap))}px`;
}

/** Escape closes the popover only, and not the head. */
function onKey(event: KeyboardEvent): void {
  const popover = (event.currentTarget as Element).querySelector<HTMLElement>("[popover]");
  if (event.key !== "Escape" || !popover?.matches(":popover-open")) return;
  event.preventDefault();
  event.stopPropagation();
  popover.hidePopover();
}

export function nameButton(layer: number, head: number, { name, findings, missed }: HeadName): TemplateResult {
  const title = `Why head ${layer}.${head} has this name`;
  return html`
    <span class="named" @keydown=${onKey}>
      <button class="name-button ${name === kNoPattern ? "nameless" : ""}" part="name" popovertarget="reasons" title=${title}>${name}<span class="unseen">: why?</span></button>
      <div id="reasons" popover class="reasons" role="dialog" aria-label=${title} tabindex="-1" @toggle=${place}>
        <p class="reasons-title">${layer}.${head}: ${name}</p>
        ${findings.length > 0 ? html`<ul>${findings.map(row)}</ul>` : html`<p>None of these reaches its threshold.</p>`}
        ${missed.length > 0 ? html`<details .open=${findings.length === 0}><summary>Below their thresholds: ${missed.length}</summary><ul>${missed.map(row)}</ul></details>` : nothing}
        <p class="reason-source">A head is called by what it does here: the first name whose threshold is reached. Names describe the unchanged model, so silencing a head renames none.</p>
      </div>
    </span>
  `;
}

export const nameStyles = css`
  .named {
    position: relative;
    min-width: 0;
  }
  .bar .name-button {
    max-width: 100%;
    padding: 0 4px;
    overflow: hidden;
    color: var(--accent);
    text-overflow: ellipsis;
    white-space: nowrap;
    text-decoration: underline dotted;
    text-underline-offset: 4px;
  }
  .bar .name-button.nameless {
    color: var(--faint);
  }
  .reasons {
    position: fixed;
    inset: auto;
    width: min(400px, calc(100vw - 8px));
    max-height: min(480px, calc(100vh - 8px));
    margin: 0;
    padding: 12px 16px;
    overflow: auto;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--paper);
    color: var(--ink);
    font-size: 13px;
    line-height: 20px;
    overflow-wrap: anywhere;
  }
  .reasons .reasons-title {
    margin: 0 0 8px;
    font: 600 14px/20px var(--mono);
  }
  .reasons ul {
    display: grid;
    gap: 12px;
    margin: 0 0 8px;
    padding: 0;
    list-style: none;
  }
  .reasons p {
    margin: 0;
  }
  .reasons summary {
    min-height: 24px;
    margin-bottom: 8px;
    cursor: pointer;
  }
  .reasons code,
  .reason-name span {
    font: 12px/20px var(--mono);
  }
  .reason-name {
    display: flex;
    justify-content: space-between;
    gap: 8px;
  }
  .reason-source {
    color: var(--faint);
    font-size: 12px;
  }
  .reason-bar {
    position: relative;
    height: 6px;
    margin: 2px 0;
    background: var(--line);
  }
  .reason-bar i {
    display: block;
    height: 100%;
    background: var(--accent);
  }
  .missed .reason-bar i {
    background: var(--faint);
  }
  .reason-bar b {
    position: absolute;
    top: -2px;
    width: 2px;
    height: 10px;
    background: var(--ink);
  }
  @media (forced-colors: active) {
    .reason-bar i,
    .reason-bar b {
      forced-color-adjust: none;
    }
  }
`;
