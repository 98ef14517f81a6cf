// SPDX-License-Identifier: Apache-2.0
/** The choice of what the open head is compared with: another text, head or model, or the model without changes. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MapSource } from "../maps/source.js";
import { type Kind, kindOf, kindsOf, kNothing, proposal } from "./compare-other.js";
import type { Host } from "./view.js";

const kNames: Readonly<Record<Kind, string>> = {
  text: "Another text", head: "Another head", model: "Another model", unchanged: "Without changes",
};

type Field = keyof typeof kNothing;

export class CompareChoice {
  /** The kind whose fields the reader emptied. Until something is written, there is nothing to compare with. */
  #emptied: Kind | undefined;

  constructor(private readonly host: Host) {}

  /** The words that say what to write, where nothing is written; undefined where there is something to compare with. */
  hint({ run }: MapSource): string | undefined {
    if (this.#isNamed()) this.#emptied = undefined;
    if (!this.#emptied) return undefined;
    return {
      text: run?.info.encoder ? "Write another source, another translation, or both, to compare with." : "Write a text to compare with.",
      head: "Write a head to compare with, as 1.2 is head 2 of layer 1.",
      model: "Write the name of a built-in model, or the address of a Hugging Face folder, to compare with.",
      unchanged: undefined,
    }[this.#emptied];
  }

  #isNamed(): boolean {
    return Object.keys(kNothing).some((name) => this.host.state[name as Field] !== "");
  }

  render(maps: MapSource): TemplateResult | typeof nothing {
    const { run } = maps;
    if (!run) return nothing;
    const { host } = this;
    const now = this.#emptied ?? kindOf(run, host.state);
    const choose = (kind: Kind): void => {
      const changes = proposal(kind, maps, run, host.state);
      const isEmpty = Object.values(changes).every((value) => (value as string) === "");
      this.#emptied = isEmpty && kind !== "unchanged" ? kind : undefined;
      host.change(changes);
      host.requestUpdate();
    };
    const radio = (kind: Kind): TemplateResult => html`
      <label><input type="radio" name="cmp-kind" .checked=${kind === now} @change=${(): void => choose(kind)} />${kNames[kind]}</label>
    `;
    const shown = this.#emptied || this.#isNamed() ? host.state : proposal(now, maps, run, host.state);
    const field = (name: Field, label: string, usual: string): TemplateResult => {
      const write = (event: Event): void => this.#write(now, name, event);
      // A text is compared while it is written, and the name of a head or a model once it is whole.
      const asWritten = now === "text" ? write : nothing;
      return html`
        <label class="cmp-label"><span class=${now === "text" && run.info.encoder ? "" : "unseen"}>${label}</span>
          <input class="cmp-field" type="text" .value=${shown[name]} placeholder=${usual} @input=${asWritten} @change=${write} />
        </label>`;
    };
    const fields = {
      text: run.info.encoder
        ? [field("compareSource", "Source", run.reading.source), field("compareText", "Translation", run.reading.text)]
        : [field("compareText", kNames.text, "")],
      head: [field("compareHead", kNames.head, "1.2")],
      model: [field("compareModel", kNames.model, "")],
      unchanged: [],
    }[now];
    return html`
      <div class="segments" role="radiogroup" aria-label="Compare with">${kindsOf(run).map(radio)}</div>
      ${fields}
    `;
  }

  #write(kind: Kind, name: Field, { target }: Event): void {
    const value = (target as HTMLInputElement).value.trim() === "" ? "" : (target as HTMLInputElement).value;
    this.host.change({ [name]: value });
    this.#emptied = this.#isNamed() ? undefined : kind;
    this.host.requestUpdate();
  }
}
