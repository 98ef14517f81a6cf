// SPDX-License-Identifier: Apache-2.0
/**
 * The whole figure of a lesson: the claim, the controls, the scene, its formula, and the question. What only scripts can
 * do keeps its place until the figure is alive, so that the page does not move, and is gone where there are no scripts.
 */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { symbols } from "../../views/matrix-table.js";
import type { Lesson, Question } from "../lesson.js";
import type { Item, Row } from "../scene.js";
import { drawControls } from "./controls.js";
import { drawBars, drawCurve, drawNote, drawSentence, drawShape, drawView } from "./items.js";
import type { Hands, Look } from "./look.js";
import { drawPicture } from "./picture.js";
import { drawPlane } from "./plane.js";
import { sumOf } from "./sum.js";
import { drawTable } from "./table.js";

export function drawFigure(lesson: Lesson, look: Look, hands: Hands): TemplateResult {
  const { scene } = look;
  const leave = (): void => hands.point(undefined);
  const question = lesson.question ? drawQuestion(lesson.question, look, hands) : nothing;
  const says = scene.says.map(({ text, holds }) => html`<li class=${holds ? "" : "unexpected"}>${text}</li>`);
  return html`
    <div class="figure ${look.isAlive ? "alive" : ""}">
      <p class="claim">${lesson.claim}</p>
      ${lesson.asksFirst ? question : nothing}
      ${drawControls(lesson.controls, look, hands)}
      <div class="scene" @pointerleave=${leave}>${scene.rows.map((row) => drawRow(row, lesson, look, hands))}</div>
      ${hasSums(look) ? html`<output class="sum scripted">${sumOf(look) || "Point at a number of a result to see what makes it."}</output>` : nothing}
      ${drawFormula(lesson.formula(look.values), look, hands)}
      <ul class="says" aria-live="polite">${says}</ul>
      ${lesson.asksFirst ? nothing : question}
    </div>
  `;
}

const hasSums = ({ scene }: Look): boolean =>
  scene.rows.some(({ items }) => items.some((item) => typeof item === "object" && item.kind === "table" && item.from !== undefined));

function drawRow({ title, about, items }: Row, lesson: Lesson, look: Look, hands: Hands): TemplateResult {
  return html`
    <section class="row">
      ${title === undefined ? nothing : html`<p class="row-title">${symbols(title)}</p>`}
      ${about === undefined ? nothing : html`<p class="about">${about}</p>`}
      <div class="items scrolled">${items.map((item) => typeof item === "string" ? html`<span class="sign">${item}</span>` : drawItem(item, lesson, look, hands))}</div>
    </section>
  `;
}

function drawItem(item: Item, { controls }: Lesson, look: Look, hands: Hands): TemplateResult {
  switch (item.kind) {
    case "table": {
      const control = item.control === undefined ? undefined : controls[item.control];
      return drawTable(item, look, hands, control?.kind === "cells" ? control : undefined);
    }
    case "sentence": return drawSentence(item, look, hands);
    case "bars": return drawBars(item, look);
    case "curve": return drawCurve(item, look);
    case "plane": return drawPlane(item, controls, look, hands);
    case "shape": return drawShape(item, look);
    case "picture": return drawPicture(item, look, hands);
    case "note": return drawNote(item);
    case "view": return drawView(item, look, hands);
  }
}

/** Pointing at a name in the formula lights up its matrix, and pointing at a matrix lights up its name. */
function drawFormula(formula: string, look: Look, hands: Hands): TemplateResult {
  const part = (text: string, index: number): unknown => {
    if (index % 2 === 0) return symbols(text);
    const lit = look.lit?.matrix === text ? "lit" : "";
    const show = (): void => hands.point({ matrix: text });
    return html`<span class="part ${lit}" tabindex=${look.isAlive ? 0 : nothing} @pointerenter=${show} @focus=${show}>${symbols(text)}</span>`;
  };
  return html`<p class="formula" @pointerleave=${(): void => hands.point(undefined)}>${formula.split(/\{([^}]+)\}/).map(part)}</p>`;
}

function drawQuestion({ ask, answers, right, because }: Question, look: Look, hands: Hands): TemplateResult {
  const truth = html`<b>${answers[right]}</b> ${because}`;
  const { answered, isAlive } = look;
  const mark = (index: number): string => (index === right ? "right" : index === answered ? "wrong" : "");
  const answer = (text: string, index: number): TemplateResult => html`
    <li><button class=${answered === undefined ? "" : mark(index)} ?disabled=${!isAlive} aria-pressed=${answered === index} @click=${(): void => hands.answer(index)}>${text}</button></li>
  `;
  return html`
    ${isAlive ? nothing : html`<details class="question unscripted"><summary>Predict: ${ask}</summary><p>${truth}</p></details>`}
    <section class="question scripted">
      <p>Predict: ${ask}</p>
      <ul>${answers.map(answer)}</ul>
      <p role="status">${answered === undefined ? nothing : html`${answered === right ? "Yes." : "No:"} ${truth}`}</p>
    </section>
  `;
}
