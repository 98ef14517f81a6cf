// SPDX-License-Identifier: Apache-2.0
/** The book: its chapters in the order in which they are read, and the lessons of each. */
import { checkpoints } from "./chapters/checkpoints/index.js";
import { disagreements } from "./chapters/disagreements/index.js";
import { heads } from "./chapters/heads/index.js";
import { kinds } from "./chapters/kinds/index.js";
import { long } from "./chapters/long/index.js";
import { masks } from "./chapters/masks/index.js";
import { notation } from "./chapters/notation/index.js";
import { positions } from "./chapters/positions/index.js";
import { projections } from "./chapters/projections/index.js";
import { roles } from "./chapters/roles/index.js";
import { scores } from "./chapters/scores/index.js";
import { variants } from "./chapters/variants/index.js";
import { why } from "./chapters/why/index.js";
import type { Lesson } from "./lesson.js";

export interface Chapter {
  /** The name of its folder, which is also that in addresses. */
  readonly name: string;
  readonly title: string;
  /** Lessons by name, in order. Each is a folder of the chapter, and names are unique within the book. */
  readonly lessons: Readonly<Record<string, () => Promise<{ default: Lesson }>>>;
}

export const kBook: readonly Chapter[] = [
  why, projections, scores, heads, masks, kinds, positions, roles, variants, disagreements, checkpoints, notation, long,
];

/** Loads the lesson of this name. Throws for a name that the book does not have. */
export async function findLesson(name: string): Promise<Lesson> {
  const load = kBook.find(({ lessons }) => Object.hasOwn(lessons, name))?.lessons[name];
  if (!load) throw new Error(`there is no lesson “${name}”: the lessons are ${kBook.flatMap(({ lessons }) => Object.keys(lessons)).join(", ")}`);
  return (await load()).default;
}
