// SPDX-License-Identifier: Apache-2.0
/** Reads the fields of tokenizer.json. Errors name the field, its value and what was expected. */
import { kFiles } from "../files/names.js";
import { show, showIfAny, wrong } from "../module/failures.js";
import type { ErrorCode } from "../types/errors.js";
import { byteLength } from "./unicode.js";

const kMaxSteps = 256;
const kMaxDepth = 32;
const kMaxAffix = 16; // in bytes

/** A value knows where it stands in the file. A check that fails throws an error that says so. */
export class Field {
  /** Vocabularies have very many fields, so the name is put together only when it is asked for. */
  constructor(readonly value: unknown, readonly parent?: Field, readonly place = "") {}

  get name(): string {
    const { parent, place } = this;
    return !parent?.parent && place.startsWith(".") ? place.slice(1) : `${parent?.name ?? ""}${place}`;
  }

  get isNull(): boolean {
    return this.value === undefined || this.value === null;
  }

  at(key: string): Field {
    return this.#member(key, `.${key}`);
  }

  /** Returns the same for a key from the file, which may be anything. */
  named(key: string): Field {
    return this.#member(key, `[${show(key)}]`);
  }

  #member(key: string, place: string): Field {
    const value = this.object() as Readonly<Record<string, unknown>>;
    return new Field(Object.hasOwn(value, key) ? value[key] : undefined, this, place);
  }

  element(i: number): Field {
    return new Field(this.items()[i], this, `[${i}]`);
  }

  object(): object {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) this.fail("an object");
    return this.value;
  }

  items(): readonly unknown[] {
    if (!Array.isArray(this.value)) this.fail("a list");
    return this.value as unknown[];
  }

  list(): Field[] {
    return this.items().map((item, i) => new Field(item, this, `[${i}]`));
  }

  /** The list, which is empty when it is absent. */
  listIfAny(): Field[] {
    return this.isNull ? [] : this.list();
  }

  text(otherwise?: string): string {
    if (this.isNull && otherwise !== undefined) return otherwise;
    if (typeof this.value !== "string") this.fail("a string");
    return this.value;
  }

  flag(otherwise: boolean): boolean {
    if (this.isNull) return otherwise;
    if (typeof this.value !== "boolean") this.fail("true or false");
    return this.value;
  }

  whole(least: number, most: number): number {
    const { value } = this;
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
      this.fail(`a whole number from ${least} to ${most}`);
    }
    return value as number;
  }

  id(): number {
    return this.whole(0, 0x7fffffff);
  }

  fail(expected: string, code: ErrorCode = "format"): never {
    const { name } = this;
    throw wrong(code, name === "" ? kFiles.tokenizer : `${kFiles.tokenizer}: ${name}`, showIfAny(this.value), expected);
  }

  /** Refuses what is right, but not offered here. */
  refuse(offered: string): never {
    this.fail(offered, "unsupported");
  }
}

export type Kinds<T> = Readonly<Record<string, (field: Field) => T>>;

/** Makes a step with the function that `kinds` has for its type. */
export function make<T>(kinds: Kinds<T>, step: Field): T {
  const type = step.at("type");
  const kind = Object.hasOwn(kinds, type.text()) ? kinds[type.text()] : undefined;
  return kind ? kind(step) : type.refuse(`one of ${Object.keys(kinds).join(", ")}`);
}

/** Returns the steps of `root` in their order, with Sequences of Sequences (in the field `list`) taken apart. Null has none. */
export function stepsOf(root: Field, list: string): Field[] {
  const steps: Field[] = [];
  const walk = (step: Field, depth: number): void => {
    if (step.at("type").text() !== "Sequence") {
      if (steps.push(step) > kMaxSteps) step.refuse(`up to ${kMaxSteps} steps`);
      return;
    }
    if (depth === kMaxDepth) step.refuse(`Sequences up to ${kMaxDepth} deep`);
    for (const inner of step.at(list).list()) walk(inner, depth + 1);
  };
  if (!root.isNull) walk(root, 0);
  return steps;
}

/** Reads the mark of tokens inside or at the end of words. It is short, since every character of a text may get it. */
export function affixOf(field: Field, otherwise: string): string {
  const affix = field.text(otherwise);
  return byteLength(affix) > kMaxAffix ? field.refuse(`up to ${kMaxAffix} bytes`) : affix;
}
