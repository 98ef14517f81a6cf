// SPDX-License-Identifier: Apache-2.0
/**
 * A lesson makes one claim, shows it in a figure that the engine computes, asks the reader to predict, and offers
 * controls that confirm or break it. This file says what a lesson consists of; its prose is in `prose.md` beside it.
 */
import type { LessonEngine } from "./experiments/numbers.js";
import { writeState, type State } from "../state/state.js";
import { ownMaps } from "./own-maps.js";
import type { Scene } from "./scene.js";

/** A number between two ends. */
export interface Slider {
  readonly kind: "slider";
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
}

/** One of a few numbers in rising order. */
export interface Steps {
  readonly kind: "steps";
  readonly label: string;
  readonly values: readonly number[];
  readonly value: number;
}

/** One of a few names. `options` says how each is called. */
export interface Choice<Name extends string = string> {
  readonly kind: "choice";
  readonly label: string;
  readonly options: Readonly<Record<Name, string>>;
  readonly value: NoInfer<Name>;
}

export interface Switch {
  readonly kind: "switch";
  readonly label: string;
  readonly value: boolean;
}

/** A text, such as a sentence, of at most `most` characters. */
export interface Words {
  readonly kind: "words";
  readonly label: string;
  readonly most: number;
  readonly value: string;
}

/** Numbers that the reader drags or types in a matrix of the figure, which names this control. */
export interface Cells {
  readonly kind: "cells";
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: readonly (readonly number[])[];
}

export type Control = Slider | Steps | Choice | Switch | Words | Cells;
export type Controls = Readonly<Record<string, Control>>;
export type Value = number | string | boolean | readonly (readonly number[])[];

type ValueOf<C extends Control> =
  C extends Choice<infer Name> ? Name
  : C extends { readonly kind: "switch" } ? boolean
  : C extends { readonly kind: "words" } ? string
  : C extends Cells ? readonly (readonly number[])[]
  : number;

/** The state of a lesson: one value for each control. */
export type Values<C extends Controls = Controls> = { readonly [Name in keyof C]: ValueOf<C[Name]> };

/** Something to predict before it is seen. */
export interface Question {
  readonly ask: string;
  readonly answers: readonly string[];
  /** The index of the true answer. */
  readonly right: number;
  /** Says why it is true, and which control shows it. */
  readonly because: string;
}

export interface Lesson<C extends Controls = Controls> {
  readonly title: string;
  /** The point of the lesson, in one sentence that is true whatever the controls say. */
  readonly claim: string;
  /** Rows of the table of what the tutorials show, such as "T0.5". */
  readonly teaches: readonly string[];
  /** The first state is the one that makes the point. */
  readonly controls: C;
  readonly question?: Question;
  /** True when the question stands before the figure, which answers it. */
  readonly asksFirst?: boolean;
  /** A formula, in which the names of items of the figure stand in braces: "weights = softmax({Q} · {Kᵀ})". */
  formula(values: Values<C>): string;
  run(engine: LessonEngine, values: Values<C>): Promise<Scene>;
  /** The state of Explore that shows the same there, or the same point on a head of a trained model. */
  explore?(values: Values<C>): Partial<State>;
  /** The names of maps of the figure that open in Explore as they are, side by side. */
  readonly exploreMaps?: readonly string[];
  /** Says what stands there when it is not the figure's own: "Sparsemax on trained heads". */
  readonly exploreShows?: string;
}

/** Keeps the types of the controls for `run`, and forgets them for the book, which holds lessons of all kinds. */
export const lesson = <const C extends Controls>(content: Lesson<C>): Lesson => content;

export const firstValues = (controls: Controls): Values =>
  Object.fromEntries(Object.entries(controls).map(([name, { value }]) => [name, value]));

/** The part of Explore's address behind `#` that a lesson leads to in one state. */
export function exploreAddress(lesson: Lesson, values: Values, scene: Scene): string {
  const { exploreMaps: names } = lesson;
  const maps = names && { view: "map", src: ownMaps(scene, names), layer: 0, head: 0 };
  // All that the lesson names is written, since the page does not open in the element's initial state.
  return writeState({ ...maps, ...lesson.explore?.(values) }, {}).toString();
}

/** Writes a value as it stands in attributes and addresses. Rows of cells are separated by semicolons. */
export const written = (value: Value): string =>
  typeof value === "object" ? value.map((row) => row.join(",")).join(";") : String(value);

/** Reads what `written` writes. Returns undefined for a text that the control cannot have. */
export function readValue(control: Control, text: string): Value | undefined {
  const number = text.trim() === "" ? NaN : Number(text);
  switch (control.kind) {
    case "slider": return number >= control.min && number <= control.max ? number : undefined;
    case "steps": return control.values.includes(number) ? number : undefined;
    case "choice": return Object.hasOwn(control.options, text) ? text : undefined;
    case "switch": return text === "true" || text === "false" ? text === "true" : undefined;
    case "words": return text.length <= control.most ? text : undefined;
    case "cells": return readCells(control, text);
  }
}

function readCells({ min, max, value }: Cells, text: string): Value | undefined {
  const rows = text.split(";").map((row) => row.split(",").map(Number));
  const fits = rows.length === value.length && rows.every((row, index) => row.length === value[index]?.length);
  return fits && rows.flat().every((cell) => cell >= min && cell <= max) ? rows : undefined;
}
