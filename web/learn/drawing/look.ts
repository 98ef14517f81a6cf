// SPDX-License-Identifier: Apache-2.0
/** The state that a figure is drawn in, and the acts that come back from it. */
import type { Value, Values } from "../lesson.js";
import type { Scene } from "../scene.js";

/** An item of the figure, by its name, or a cell of a matrix that the reader points at. */
export interface Lit {
  readonly matrix: string;
  readonly row?: number;
  readonly col?: number;
}

export interface Look {
  /** False for figures that are drawn when the page is built. Nothing can be changed in them. */
  readonly isAlive: boolean;
  readonly values: Values;
  readonly scene: Scene;
  readonly lit?: Lit | undefined;
  /** The index of the answer that the reader gave to the question. */
  readonly answered?: number | undefined;
}

/** The class of an item when its name in the formula is pointed at. */
export const litWhole = ({ lit }: Look, name: string): string => (lit?.matrix === name && lit.row === undefined ? "whole" : "");

export interface Hands {
  change(control: string, value: Value): void;
  point(at: Lit | undefined): void;
  answer(index: number): void;
}

const nothing = (): void => undefined;

/** For figures that are not alive. */
export const kNoHands: Hands = { change: nothing, point: nothing, answer: nothing };
