// SPDX-License-Identifier: Apache-2.0
/**
 * The settings below a view of a head. Some only change the picture, and others change how the model computes; each group
 * says which. What is changed in the model stays in sight, with a way back.
 */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Run } from "../maps/run.js";
import { silencedToggled } from "../maps/silenced.js";
import type { MapSource } from "../maps/source.js";
import { headName, toggled } from "../state/lists.js";
import { kInitial, kShaping, type Shaping, type State } from "../state/state.js";
import { combinedInWords } from "../views/lines-words.js";
import type { Host } from "../views/view.js";

type Choice = readonly [value: string, words: string];

const kScaleChoices: readonly Choice[] = [
  ["auto", "auto"], ["fixed", "fixed, 0 – 1"], ["head", "by head"], ["row", "by row"], ["log", "logarithmic"],
];
const kHideChoices: readonly Choice[] = [
  ["sink", "the first token"], ["special", "special tokens"], ["punctuation", "punctuation"],
];
const kCombineChoices: readonly Choice[] = [
  ["none", "this head"], ["mean", "mean of heads"], ["max", "largest of heads"], ["norm", "weighted by values"],
];
const kSegmentChoices: readonly Choice[] = [
  ["all", "all"], ["AA", "A → A"], ["AB", "A → B"], ["BA", "B → A"], ["BB", "B → B"],
];
const kNormalizers: readonly Choice[] = [
  ["softmax", "softmax"], ["sparsemax", "sparsemax"], ["entmax15", "1.5-entmax"], ["sigmoid", "sigmoid"], ["hard", "hard"], ["relu", "ReLU / n"],
];
const kAttentionChoices: readonly Choice[] = [
  ["cross", "cross: target → source"], ["decoder", "decoder: target"], ["encoder", "encoder: source"],
];

type TextField = { [Name in keyof State]: State[Name] extends string ? Name : never }[keyof State];
type NumberField = { [Name in keyof State]: State[Name] extends number ? Name : never }[keyof State];

/** Controls that change one field of the state each. */
class Controls {
  constructor(private readonly host: Host) {}

  choice(label: string, name: TextField, choices: readonly Choice[]): TemplateResult {
    const value = this.host.state[name];
    const option = ([of, words]: Choice): TemplateResult => html`<option value=${of} ?selected=${of === value}>${words}</option>`;
    const change = ({ target }: Event): void => this.host.change({ [name]: (target as HTMLSelectElement).value });
    return html`<label>${label} <select .value=${value} @change=${change}>${choices.map(option)}</select></label>`;
  }

  /** Check boxes for a field that is a list of words. */
  checks(label: string, name: TextField, choices: readonly Choice[]): TemplateResult {
    const list = this.host.state[name];
    const check = ([word, words]: Choice): TemplateResult => {
      const change = (): void => this.host.change({ [name]: toggled(list, word) });
      return html`<label class="check"><input type="checkbox" .checked=${list.split(/[\s,]+/).includes(word)} @change=${change} />${words}</label>`;
    };
    return html`<span role="group" aria-label=${label}><span>${label}</span> ${choices.map(check)}</span>`;
  }

  number(
    label: string, name: NumberField, [min, max, step]: readonly [number, number, number], said: string,
  ): TemplateResult {
    const change = ({ target }: Event): void =>
      this.host.change({ [name]: (target as HTMLInputElement).valueAsNumber });
    return html`
      <label>${label}
        <input type="range" min=${min} max=${max} step=${step} .valueAsNumber=${this.host.state[name]} aria-valuetext=${said} @input=${change} />
        <output>${said}</output>
      </label>
    `;
  }

  toggle(label: string, isOn: boolean, changes: (isOn: boolean) => Partial<State>): TemplateResult {
    const change = ({ target }: Event): void => this.host.change(changes((target as HTMLInputElement).checked));
    return html`<label class="check"><input type="checkbox" .checked=${isOn} @change=${change} />${label}</label>`;
  }
}

/** The slider's steps of the temperature are equal in its logarithm. */
const kTemperatures = [0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 10];

function temperature(host: Host): TemplateResult {
  const { temperature: value } = host.state;
  const nearest = kTemperatures.reduce((best, one, index) =>
    Math.abs(Math.log(one / value)) < Math.abs(Math.log((kTemperatures[best] ?? 1) / value)) ? index : best, 0);
  const change = ({ target }: Event): void =>
    host.change({ temperature: kTemperatures[(target as HTMLInputElement).valueAsNumber] ?? 1 });
  return html`
    <label>temperature
      <input type="range" min="0" max=${kTemperatures.length - 1} step="1" .valueAsNumber=${nearest} aria-valuetext=${value} @input=${change} />
      <output>${value}</output>
    </label>
  `;
}

/** The settings of maps, and of the model that computes them if there is one. */
export function settings(host: Host, maps: MapSource, isShaped: boolean): TemplateResult {
  const { state } = host;
  const controls = new Controls(host);
  const isPair = state.textPair !== "";
  const combines = maps.run ? kCombineChoices : kCombineChoices.filter(([value]) => value !== "norm");
  return html`
    <fieldset>
      <legend>The picture</legend>
      ${controls.choice("scale", "scale", kScaleChoices)}
      ${isShaped ? html`
        ${controls.choice("show", "combine", combines)}
        ${controls.toggle("merge pieces of words", state.merge === "words", (isOn) => ({ merge: isOn ? "words" : "none" }))}
        ${controls.checks("hide", "hide", kHideChoices)}
        ${isPair ? controls.choice("segments", "segments", kSegmentChoices) : nothing}
      ` : nothing}
      ${controls.number("leave out below", "threshold", [0, 0.5, 0.01], state.threshold.toFixed(2))}
      ${controls.number("keys of a query", "topK", [0, 16, 1], state.topK === 0 ? "all" : `${state.topK} largest`)}
      <p>These change what is drawn. The model’s numbers stay the same.</p>
    </fieldset>
    ${maps.run ? html`
      <fieldset>
        <legend>The model</legend>
        ${maps.run.info.encoder ? controls.choice("attention", "attention", kAttentionChoices) : nothing}
        ${temperature(host)}
        ${controls.choice("normaliser", "normalizer", kNormalizers)}
        ${controls.toggle("no query sees itself", state.forbid.split(" ").includes("0"), () => ({ forbid: toggled(state.forbid, "0") }))}
        ${controls.toggle("no query sees the token before", state.forbid.split(" ").includes("1"), () => ({ forbid: toggled(state.forbid, "1") }))}
        ${maps.run.info.causal ? nothing : controls.toggle("no query sees later tokens", state.causal, (causal) => ({ causal }))}
        <p>These change how the model computes: maps and predictions are those of the changed model.</p>
      </fieldset>
    ` : nothing}
  `;
}

/** The parts of the state that change the model, without changes. */
const kUnchanged = Object.fromEntries(
  (["ablate", "zeroToken", "forbid", "temperature", "normalizer", "causal"] as const).map((name) => [name, kInitial[name]]),
) as Partial<State>;

/** The parts of the state that change the picture only, without changes. */
const kPlain = Object.fromEntries(kShaping.map((name) => [name, kInitial[name]])) as Partial<State>;

/** A change that is in force, as a button that takes it back. */
type Chip = readonly [words: string, undone: Partial<State>];

function inForce(
  host: Host, title: string, chips: readonly Chip[], undone: Partial<State>,
): TemplateResult | typeof nothing {
  if (chips.length === 0) return nothing;
  const chip = ([words, back]: Chip): TemplateResult =>
    html`<button class="chip" aria-label=${`Take back: ${words}`} @click=${(): void => host.change(back)}>${words} <span aria-hidden="true">×</span></button>`;
  return html`
    <p class="changes" part="changes" role="status">
      <span>${title}</span> ${repeat(chips, ([words]) => words, chip)} <button class="undo" @click=${(): void => host.change(undone)}>Undo all changes</button>
    </p>
  `;
}

/** The changes of the model and those of the picture that are in force, with buttons that take one or all of them back. */
export function changesInForce(host: Host, { run }: MapSource, shaping: Shaping | undefined): TemplateResult {
  const model = run && run.attention !== run.unchanged ? modelChanges(host, run) : [];
  const picture = shaping ? pictureChanges(host, shaping) : [];
  return html`${inForce(host, "The model is changed:", model, kUnchanged)} ${inForce(host, "Only the picture is changed:", picture, kPlain)}`;
}

function modelChanges({ state }: Host, { info, changes }: Run): Chip[] {
  const { ablate, zeroToken, forbid, temperature, normalizer, causal } = changes;
  return [
    ...ablate.map((head): Chip =>
      [`${info.encoder ? `${head.attention} ` : ""}head ${headName(head)} silenced`, { ablate: silencedToggled(state.ablate, head) }]),
    ...zeroToken.map((index): Chip => [`token ${index} blanked`, { zeroToken: toggled(state.zeroToken, String(index)) }]),
    ...forbid.map((distance): Chip =>
      [distance === 0 ? "no query sees itself" : `no query sees ${distance} back`, { forbid: toggled(state.forbid, String(distance)) }]),
    ...(temperature === 1 ? [] : [[`temperature ${temperature}`, { temperature: kInitial.temperature }]] as const),
    ...(normalizer === "softmax" ? [] : [[normalizer, { normalizer: kInitial.normalizer }]] as const),
    ...(causal && !info.causal ? [["no later tokens", { causal: false }]] as const : []),
  ];
}

function pictureChanges({ state }: Host, { combine, merge, hide, segments, threshold, topK }: Shaping): Chip[] {
  const hidden = kHideChoices.filter(([word]) => hide.split(/[\s,]+/).includes(word));
  return [
    ...(combine === "none" ? [] : [[combinedInWords(state) ?? "heads weighted by their values", { combine: kInitial.combine }]] as const),
    ...(merge === "none" ? [] : [["pieces of words merged", { merge: kInitial.merge }]] as const),
    ...hidden.map(([word, words]): Chip => [`${words} hidden`, { hide: toggled(hide, word) }]),
    ...(segments === "all" ? [] : [[`segments ${segments}`, { segments: kInitial.segments }]] as const),
    ...(threshold === 0 ? [] : [[`weights below ${threshold} left out`, { threshold: kInitial.threshold }]] as const),
    ...(topK === 0 ? [] : [[`${topK} largest of each query`, { topK: kInitial.topK }]] as const),
  ];
}

export const kDrawerStyles = css`
  .drawer fieldset {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 24px;
    margin: 8px 0;
    padding: 8px 16px 16px;
    border: 1px solid var(--line);
    border-radius: 4px;
  }
  .drawer legend {
    padding: 0 4px;
    color: var(--ink);
  }
  .drawer label,
  .drawer [role="group"] {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 8px;
    min-height: 28px;
  }
  .drawer p {
    flex-basis: 100%;
    margin: 0;
    font-size: 12px;
  }
  .drawer select {
    min-height: 28px;
  }
  .drawer input[type="range"] {
    width: 112px;
  }
  .drawer input[type="checkbox"] {
    width: 16px;
    height: 16px;
    margin: 0;
  }
  .drawer output {
    min-width: 4ch;
    color: var(--ink);
    font-family: var(--mono);
    font-size: 12px;
  }
  .changes {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 8px;
    margin: 0 0 8px;
    color: var(--faint);
  }
  .chip {
    min-height: 24px;
    padding: 0 8px;
    border: 1px solid var(--accent);
    color: var(--ink);
  }
  .undo {
    min-height: 24px;
    padding: 0 4px;
    color: var(--ink);
    text-decoration: underline;
  }
  @media (pointer: coarse) {
    .drawer label,
    .drawer select,
    .chip,
    .undo {
      min-height: 44px;
    }
  }
`;
