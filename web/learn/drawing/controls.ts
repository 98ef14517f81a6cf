// SPDX-License-Identifier: Apache-2.0
/** The controls of a lesson, as the browser's own inputs. */
import { html } from "lit";
import type { TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import type { Choice, Control, Slider, Steps, Switch, Words } from "../lesson.js";
import type { Hands, Look } from "./look.js";

const valueOf = (event: Event): string => (event.target as HTMLInputElement).value;

/** Cells are changed where they stand, in their matrix. */
export function drawControls(controls: Readonly<Record<string, Control>>, look: Look, hands: Hands): TemplateResult {
  const shown = Object.entries(controls).filter(([, { kind }]) => kind !== "cells");
  if (shown.length === 0) return html``;
  return html`<div class="controls">${shown.map(([name, control]) => drawControl(name, control, look, hands))}</div>`;
}

function drawControl(name: string, control: Control, look: Look, hands: Hands): TemplateResult {
  switch (control.kind) {
    case "slider": return slider(name, control, look, hands);
    case "steps": return steps(name, control, look, hands);
    case "choice": return choice(name, control, look, hands);
    case "switch": return check(name, control, look, hands);
    case "words": return words(name, control, look, hands);
    case "cells": return html``;
  }
}

function slider(
  name: string, { label, min, max, step }: Slider, { values, isAlive }: Look, hands: Hands,
): TemplateResult {
  const value = String(values[name]);
  return html`
    <label class="slider"><span>${label} <b>${value.replace("-", "−")}</b></span>
      <input type="range" name=${name} min=${min} max=${max} step=${step} ?disabled=${!isAlive} .value=${live(value)} @input=${(event: Event): void => hands.change(name, Number(valueOf(event)))} />
    </label>
  `;
}

function steps(name: string, control: Steps, { values, isAlive }: Look, hands: Hands): TemplateResult {
  const index = control.values.indexOf(values[name] as number);
  const move = (event: Event): void => hands.change(name, control.values[Number(valueOf(event))] ?? control.value);
  return html`
    <label class="slider"><span>${control.label} <b>${String(values[name])}</b></span>
      <input type="range" name=${name} min="0" max=${control.values.length - 1} step="1" aria-valuetext=${String(values[name])} ?disabled=${!isAlive} .value=${live(String(index))} @input=${move} />
    </label>
  `;
}

function choice(name: string, { label, options }: Choice, { values, isAlive }: Look, hands: Hands): TemplateResult {
  const option = ([key, text]: [string, string]): TemplateResult => html`
    <label><input type="radio" name=${name} value=${key} ?disabled=${!isAlive} ?checked=${values[name] === key} .checked=${live(values[name] === key)} @change=${(): void => hands.change(name, key)} />${text}</label>
  `;
  return html`<fieldset class="choice"><legend>${label}</legend><div class="segments">${Object.entries(options).map(option)}</div></fieldset>`;
}

const check = (name: string, { label }: Switch, { values, isAlive }: Look, hands: Hands): TemplateResult => html`
  <label class="check"><input type="checkbox" name=${name} ?disabled=${!isAlive} ?checked=${values[name] === true} .checked=${live(values[name] === true)}
    @change=${(event: Event): void => hands.change(name, (event.target as HTMLInputElement).checked)} />${label}</label>
`;

const words = (name: string, { label, most }: Words, { values, isAlive }: Look, hands: Hands): TemplateResult => html`
  <label class="words">${label}
    <input type="text" name=${name} maxlength=${most} spellcheck="false" ?disabled=${!isAlive} .value=${live(String(values[name]))} @input=${(event: Event): void => hands.change(name, valueOf(event))} />
  </label>
`;
