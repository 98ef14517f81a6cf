// SPDX-License-Identifier: Apache-2.0
/** The worked example: matrices as tables and, for each number of a result, the numbers and the sum that give it. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { sharedEngine } from "../maps/engine.js";
import { kCatSatOnMat } from "./cat-sat-on-mat.js";
import { kMatrixStyles, matrixTable, symbols } from "./matrix-table.js";
import { kSegmentStyles } from "./segments.js";
import type { Host, View, ViewCode } from "./view.js";
import { workExample } from "./worked-example.js";
import type { Matrix, Step, Worked } from "./worked-example.js";

interface Place {
  step: number;
  row: number;
  col: number;
}

class StepsView implements View {
  #worked: Worked | undefined;
  #place: Place | undefined;

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>("td[tabindex='0']")?.focus();
  }

  async load(_: undefined, signal: AbortSignal): Promise<void> {
    const { example = kCatSatOnMat, state: { head, causal }, colors: { theme } } = this.host;
    const worked = await workExample(await sharedEngine(), example, { head, causal, theme });
    signal.throwIfAborted();
    this.#worked = worked;
    this.host.drawn(this);
  }

  matrices(): Record<string, number[][]> {
    const of = ({ factors, result }: Step): Matrix[] => [...factors.map(({ matrix }) => matrix), result];
    const matrices = this.#worked?.steps.flatMap(of);
    const rows = ({ rows, cols, values }: Matrix): number[][] =>
      rows.map((_, row) => [...values.subarray(row * cols.length, (row + 1) * cols.length)]);
    return Object.fromEntries(matrices?.map((matrix) => [matrix.name, rows(matrix)]) ?? []);
  }

  render(): TemplateResult {
    const worked = this.#worked;
    if (!worked) return html``;
    return html`<div class="steps" part="steps">${this.#choices(worked.numHeads)} ${worked.steps.map((step, index) => this.#step(step, index))}</div>`;
  }

  #choices(numHeads: number): TemplateResult {
    const head = (_: unknown, index: number): TemplateResult => html`
      <label><input type="radio" name="head" .checked=${index === this.host.state.head} @change=${(): void => this.host.change({ head: index })} />Head ${index}</label>
    `;
    const toggle = (event: Event): void => {
      if (event.target instanceof HTMLInputElement) this.host.change({ causal: event.target.checked });
    };
    return html`
      <div class="choices">
        <div class="segments" role="radiogroup" aria-label="Head">${Array.from({ length: numHeads }, head)}</div>
        <label class="check"><input type="checkbox" .checked=${this.host.state.causal} @change=${toggle} />Causal mask</label>
      </div>
    `;
  }

  #step(step: Step, index: number): TemplateResult {
    const place = this.#place?.step === index ? this.#place : undefined;
    const factor = ({ sign, matrix }: Step["factors"][number], which: number): TemplateResult => {
      const isUsed = (row: number, col: number): boolean =>
        place !== undefined && step.uses(which, { row, col }, place);
      return html`<div class="term">${sign ? html`<span class="sign">${sign}</span>` : nothing}${matrixTable(matrix, isUsed)}</div>`;
    };
    return html`
      <section class="step ${isWide(step) ? "wide" : ""}">
        <p class="step-name"><span>${index + 1}</span>${symbols(step.title)}</p>
        <p>${step.about}</p>
        <div class="equation">
          ${step.factors.map(factor)}
          <div class="term"><span class="sign">${step.factors.length === 1 ? "→" : "="}</span>${this.#result(step, index, place)}</div>
        </div>
        <output class="sum" aria-live="polite">${place ? step.explain(place.row, place.col) : nothing}</output>
      </section>
    `;
  }

  #result(step: Step, index: number, place: Place | undefined): TemplateResult {
    const isChosen = (row: number, col: number): boolean => row === place?.row && col === place.col;
    const stop = (row: number, col: number): number => ((place ? isChosen(row, col) : row === 0 && col === 0) ? 0 : -1);
    const go = (event: Event): void => {
      const cell = event.target instanceof Element ? event.target.closest("td") : null;
      if (cell?.dataset.row)
        this.#moveTo({ step: index, row: Number(cell.dataset.row), col: Number(cell.dataset.col) });
    };
    const onKey = (event: KeyboardEvent): void => this.#onKey(event, step, index);
    return html`<div class="result" @pointerover=${go} @focusin=${go} @keydown=${onKey}>${matrixTable(step.result, isChosen, stop)}</div>`;
  }

  #moveTo(place: Place): void {
    if (place.step === this.#place?.step && place.row === this.#place.row && place.col === this.#place.col) return;
    this.#place = place;
    this.host.requestUpdate();
  }

  #onKey(event: KeyboardEvent, { result }: Step, index: number): void {
    const place = this.#place?.step === index ? this.#place : { step: index, row: 0, col: 0 };
    const { row, col } = place;
    const [rows, cols] = [result.rows.length, result.cols.length];
    const moves: Record<string, Partial<Place>> = {
      ArrowUp: { row: Math.max(row - 1, 0) },
      ArrowDown: { row: Math.min(row + 1, rows - 1) },
      ArrowLeft: { col: Math.max(col - 1, 0) },
      ArrowRight: { col: Math.min(col + 1, cols - 1) },
      Home: { col: 0 },
      End: { col: cols - 1 },
    };
    const move = moves[event.key];
    if (!move || event.altKey || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    this.#moveTo({ ...place, ...move });
    const results = this.host.renderRoot.querySelectorAll(".result");
    void this.host.updateComplete.then(() => results[index]?.querySelector<HTMLElement>("td[tabindex='0']")?.focus());
  }
}

/** Returns true when the matrices of a step are too wide for half a page. */
const isWide = ({ factors, result }: Step): boolean =>
  [...factors.map(({ matrix }) => matrix), result].reduce((sum, { cols }) => sum + cols.length, 0) > 8;

const styles = css`
  ${kSegmentStyles}
  ${kMatrixStyles}
  .steps {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(536px, 100%), 1fr));
    gap: 40px 48px;
  }
  .choices,
  .step.wide {
    grid-column: 1 / -1;
  }
  .choices {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 24px;
  }
  .check {
    display: flex;
    align-items: center;
    gap: 8px;
    cursor: pointer;
  }
  .check input {
    width: 16px;
    height: 16px;
    margin: 0;
  }
  .steps .step-name,
  .steps p {
    margin: 0;
  }
  .steps .step-name {
    color: var(--ink);
    font: 600 14px/24px var(--mono);
  }
  .steps p {
    color: var(--faint);
  }
  .steps .step-name span {
    margin-inline-end: 8px;
    color: var(--faint);
    font-weight: 400;
  }
  .equation {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
    margin-top: 16px;
  }
  .term {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .sign {
    padding-top: 24px;
    color: var(--faint);
    font: 16px/24px var(--mono);
  }
  .result td {
    cursor: crosshair;
  }
  .sum {
    display: block;
    min-height: 24px;
    margin-top: 8px;
    overflow-wrap: anywhere;
    font: 12px/24px var(--mono);
    font-variant-numeric: tabular-nums;
  }
`;

export const stepsView: ViewCode = { styles, create: (host) => new StepsView(host) };
