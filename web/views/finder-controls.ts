// SPDX-License-Identifier: Apache-2.0
/** The finder's controls: the texts and the metrics, and how far the measurement is. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MetricInfo } from "headlens";
import { type AnyMetric, kMostTexts, linesOf } from "../heads/ranking.js";
import type { Run } from "../maps/run.js";
import { metricWords } from "./finder-table.js";

/** The field for more texts, of which `count` are read. */
export function finderTexts(
  texts: string, count: number, { info }: Run, write: (texts: string) => void,
): TemplateResult {
  if (info.image) return html`<p class="finder-note">The finder measures the heads on this picture.</p>`;
  const form = info.encoder
    ? "One a line: the source, a tab, and its translation."
    : "One text a line. A .txt file can be dropped here, too.";
  const now = count === 0 ? "Now: the text alone." : `Now: the text and ${count} more.`;
  const isOver = linesOf(texts).length > kMostTexts;
  return html`
    <label class="finder-texts">More texts to measure on
      <textarea rows="3" spellcheck="false" .value=${texts} placeholder=${form}
        @input=${(event: Event): void => write((event.target as HTMLTextAreaElement).value)}></textarea>
      <span class="finder-note">${isOver ? `Only the first ${kMostTexts} lines are read.` : now}</span>
    </label>
  `;
}

/** All metrics to choose from, with their definitions. */
export function finderPicker(
  infos: readonly MetricInfo[], chosen: readonly AnyMetric[], pick: (metrics: readonly AnyMetric[]) => void,
): TemplateResult {
  const choose = (name: AnyMetric) => (event: Event): void => {
    const rest = chosen.filter((metric) => metric !== name);
    pick((event.target as HTMLInputElement).checked ? [...rest, name] : rest);
  };
  const option = ({ name, formula, source }: MetricInfo): TemplateResult => html`
    <label>
      <input type="checkbox" .checked=${chosen.includes(name)} @change=${choose(name)} />
      <span><b>${metricWords(name)}</b> <code>${name} = ${formula}</code> <small>${source}</small></span>
    </label>
  `;
  return html`
    <details class="finder-metrics">
      <summary>Metrics and their definitions: ${chosen.length} of ${infos.length}</summary>
      <div class="finder-options" role="group" aria-label="Metrics" tabindex="0">${infos.map(option)}</div>
    </details>
  `;
}

export function finderStatus(
  progress: { readonly done: number; readonly what: string } | undefined, words: string, halt: () => void,
  again: (() => void) | undefined,
): TemplateResult {
  if (progress) {
    const { done, what } = progress;
    return html`<p class="finder-status"><progress aria-label=${what} .value=${done}></progress> <span>${what}: ${Math.floor(done * 100)} %</span> <button @click=${halt}>Stop</button></p>`;
  }
  const button = again ? html`<button @click=${again}>Measure again</button>` : nothing;
  return html`<p class="finder-status" role="status"><span>${words}</span> ${button}</p>`;
}

export const controlStyles = css`
  .finder {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 8px;
  }
  .finder-choices {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr));
    gap: 8px 24px;
    align-items: start;
  }
  .finder-texts textarea {
    display: block;
    width: 100%;
    min-height: 60px;
    padding: 6px 8px;
    resize: vertical;
  }
  .finder-texts textarea::placeholder {
    color: var(--faint);
    opacity: 1;
  }
  .finder-note {
    margin: 0;
    color: var(--faint);
    font-size: 12px;
  }
  .finder-title {
    margin: 8px 0;
    font-weight: 600;
  }
  .finder-metrics summary {
    min-height: 24px;
    cursor: pointer;
  }
  .finder-options {
    display: grid;
    max-height: 240px;
    overflow: auto;
    border: 1px solid var(--line);
    border-radius: 4px;
  }
  .finder-options label {
    display: flex;
    gap: 8px;
    min-height: 28px;
    padding: 4px 8px;
    font-size: 12px;
    line-height: 16px;
    overflow-wrap: anywhere;
  }
  .finder-options input {
    flex: none;
    width: 16px;
    height: 16px;
    margin: 0;
  }
  .finder-options small {
    display: block;
    color: var(--faint);
    font-size: 12px;
  }
  .finder-options code {
    font-family: var(--mono);
  }
  .finder-status,
  .finder-marks {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 12px;
    min-height: 28px;
    margin: 0;
    color: var(--faint);
  }
  .finder-status button,
  .finder-marks button {
    min-height: 28px;
    padding: 0 10px;
    border: 1px solid var(--line);
    color: var(--ink);
  }
  .finder-marks button[aria-pressed="true"] {
    background: color-mix(in oklab, var(--ink) 12%, transparent);
    font-weight: 600;
  }
  .finder-both {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 16px 24px;
  }
  @container (min-width: 880px) {
    .finder-both {
      grid-template-columns: minmax(280px, 2fr) minmax(0, 3fr);
      align-items: start;
    }
  }
  .finder-axes {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
    min-height: 28px;
    margin-bottom: 4px;
    color: var(--faint);
  }
  .finder-axes select {
    min-height: 28px;
    font: 12px var(--mono);
  }
  @media (pointer: coarse) {
    .finder-status button,
    .finder-marks button,
    .finder-axes select,
    .finder-metrics summary,
    .finder-options label {
      min-height: 44px;
    }
  }
`;
