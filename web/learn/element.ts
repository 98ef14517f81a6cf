// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-lesson name="saturation">`: one lesson of the book in any page. Its controls are attributes, too, such as
 * `width="64"`. Until it is alive, it shows what stands in it.
 */
import { html, LitElement } from "lit";
import type { PropertyValues, TemplateResult } from "lit";
import { sharedEngine, sharedModel } from "../maps/engine.js";
import { findLesson } from "./book.js";
import { drawFigure } from "./drawing/figure.js";
import type { Hands, Lit } from "./drawing/look.js";
import { figureStyles, kHostStyles } from "./drawing/styles.js";
import { exploreAddress, firstValues, readValue, written, type Lesson, type Value, type Values } from "./lesson.js";
import type { Scene } from "./scene.js";
import { takeModelsFrom } from "./models.js";

/** Tells of the state of a lesson after a reader has changed it, by the names of the controls that are not at their start. */
export interface LessonChange {
  readonly values: Readonly<Record<string, string>>;
}

export class AttentionLesson extends LitElement {
  static override properties = { name: { type: String, reflect: true } };
  static override styles = [kHostStyles, figureStyles()];

  declare name: string;

  #lesson: Lesson | undefined;
  #values: Values = {};
  #scene: Scene | undefined;
  #lit: Lit | undefined;
  #answered: number | undefined;
  #trouble = "";
  #isRunning = false;
  #isStale = false;

  // A busy page is told of several places of an element at once.
  readonly #nearby = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    this.#nearby.disconnect();
    void this.#start();
  }, { rootMargin: "600px" });

  readonly #attributes = new MutationObserver((changes) =>
    this.#readAttributes(changes.map(({ attributeName }) => attributeName ?? "")));

  readonly #hands: Hands = {
    change: (control, value) => this.change(control, value),
    point: (at) => {
      if (at?.matrix === this.#lit?.matrix && at?.row === this.#lit?.row && at?.col === this.#lit?.col) return;
      this.#lit = at;
      this.requestUpdate();
    },
    answer: (index) => {
      this.#answered = index;
      this.requestUpdate();
    },
  };

  constructor() {
    super();
    this.name = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#attributes.observe(this, { attributes: true });
    this.#nearby.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#attributes.disconnect();
    this.#nearby.disconnect();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("name") && changed.get("name") && this.#lesson) void this.#start();
  }

  /** The part of Explore's address behind `#` that shows the same there, once the figure is drawn. */
  get explore(): string | undefined {
    return this.#lesson && this.#scene && exploreAddress(this.#lesson, this.#values, this.#scene);
  }

  /** Changes what a control says, as a reader does. */
  change(control: string, value: Value): void {
    if (!this.#lesson || written(this.#values[control] ?? "") === written(value)) return;
    this.#values = { ...this.#values, [control]: value };
    this.requestUpdate();
    void this.#run();
    const start = firstValues(this.#lesson.controls);
    const texts = Object.entries(this.#values).map(([name, one]): [string, string] => [name, written(one)]);
    const values = Object.fromEntries(texts.filter(([name, text]) => text !== written(start[name] ?? "")));
    this.dispatchEvent(new CustomEvent<LessonChange>("lesson-change", { detail: { values }, bubbles: true, composed: true }));
  }

  override render(): TemplateResult {
    const [lesson, scene] = [this.#lesson, this.#scene];
    const trouble = this.#trouble === "" ? "" : html`<p class="trouble" role="alert">${this.#trouble}</p>`;
    if (!lesson || !scene) return html`<slot></slot><div class="figure" ?hidden=${trouble === ""}>${trouble}</div>`;
    const look = { isAlive: true, values: this.#values, scene, lit: this.#lit, answered: this.#answered };
    return html`${drawFigure(lesson, look, this.#hands)}${trouble}`;
  }

  async #start(): Promise<void> {
    try {
      this.#lesson = await findLesson(this.name);
      this.#scene = undefined;
      this.#answered = undefined;
      this.#values = firstValues(this.#lesson.controls);
      this.#readAttributes(Object.keys(this.#lesson.controls));
      await this.#run();
    } catch (error) {
      this.#say(error);
    }
  }

  /** Takes over what attributes of these names say, where they are controls. */
  #readAttributes(names: readonly string[]): void {
    for (const name of new Set(names)) {
      const control = this.#lesson?.controls[name];
      const text = this.getAttribute(name);
      const value = control && text !== null ? readValue(control, text) : undefined;
      if (value !== undefined) this.#hands.change(name, value);
    }
  }

  /** Computes the figure anew. While one state is computed, the newest of those that came meanwhile waits. */
  async #run(): Promise<void> {
    this.#isStale = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.setAttribute("aria-busy", "true");
    try {
      const engine = await sharedEngine();
      takeModelsFrom(engine, (name) => sharedModel(name));
      while (this.#isStale && this.#lesson) {
        this.#isStale = false;
        this.#scene = await this.#lesson.run(engine, this.#values);
        this.#trouble = "";
        if (this.#scene.rows.some(({ items }) => items.some((item) => typeof item === "object" && item.kind === "view"))) await import("../elements/index.js");
        this.requestUpdate();
      }
    } catch (error) {
      this.#say(error);
    } finally {
      await this.updateComplete;
      this.#isRunning = false;
      this.removeAttribute("aria-busy");
      this.dispatchEvent(new Event("lesson-drawn", { bubbles: true, composed: true }));
    }
  }

  #say(error: unknown): void {
    this.#trouble = error instanceof Error ? error.message : String(error);
    this.requestUpdate();
  }
}

const { customElements: elements } = globalThis as Partial<typeof globalThis>;
if (elements && !elements.get("attention-lesson")) elements.define("attention-lesson", AttentionLesson);
