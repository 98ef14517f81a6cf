// SPDX-License-Identifier: Apache-2.0
/** Regular expressions as a list of instructions, which regex.ts carries out. */
import { CharacterSet } from "./character-set.js";
import { canBeEmpty, type Node, type Place, type Repeat, setOf, unknownPart } from "./nodes.js";

/** An instruction is one of these numbers, with its operands after it. */
export const kCharacter = 0; // code
export const kSet = 1; // set
export const kGreedyRun = 2; // set, least, most: characters of a set
export const kLazyRun = 3; // set, least, most
export const kPossessiveRun = 4; // set, least, most
export const kFork = 5; // the place to go on at, the place to go on at when that fails
export const kJump = 6; // place
export const kPlace = 7; // which one of kPlaces
export const kBack = 8; // the number of characters
export const kLook = 9; // the end of the part that follows, 1 if that must fail
export const kAtomic = 10; // the end of the part that follows
export const kMark = 11; // the register that takes the position
export const kUnlessMoved = 12; // the register, the place to go on at when it still has the position
export const kDone = 13;

export const kPlaces: readonly Place[] = ["line-start", "line-end", "start", "end", "last-line-end"];
export const kEndless = 0x7fffffff;

const kMaxCode = 1 << 16;
const kMaxSets = 1024;

export interface Program {
  readonly code: Int32Array;
  readonly sets: readonly CharacterSet[];
}

class Compiler {
  readonly code: number[] = [];
  readonly sets: CharacterSet[] = [];
  readonly #pattern: string;
  readonly #indices = new Map<CharacterSet | number, number>();
  #registers = 0;
  #parts = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  #refuse(what: string): never {
    throw unknownPart(this.#pattern, what);
  }

  /** Appends an instruction. Returns its place. */
  emit(...instruction: readonly number[]): number {
    if (this.code.length > kMaxCode) this.#refuse("too many parts");
    return this.code.push(...instruction) - instruction.length;
  }

  /** Has an operand of the instruction at `place` say that the next one comes here. */
  #land(place: number, operand: number): void {
    this.code[place + operand] = this.code.length;
  }

  /** Returns the place of a set, or of the set of one character, among all sets. */
  #indexOf(set: CharacterSet | number): number {
    const known = this.#indices.get(set);
    if (known !== undefined) return known;
    if (this.sets.length === kMaxSets) this.#refuse(`more than ${kMaxSets} classes`);
    this.#indices.set(set, this.sets.length);
    return this.sets.push(typeof set === "number" ? CharacterSet.of(set) : set) - 1;
  }

  compile(node: Node): void {
    if (++this.#parts > kMaxCode) this.#refuse("too many parts"); // also of those that have no instructions
    switch (node.kind) {
      case "character": return void this.emit(kCharacter, node.code);
      case "set": return void this.emit(kSet, this.#indexOf(node.set));
      case "place": return void this.emit(kPlace, kPlaces.indexOf(node.place));
      case "back": return void this.emit(kBack, node.count);
      case "sequence": return node.parts.forEach((part) => this.compile(part));
      case "choice": return this.#choice(node.parts);
      case "repeat": return this.#repeat(node);
      case "atomic": return this.#inner(node.part, kAtomic, 0);
      case "look": return this.#inner(node.part, kLook, 0, Number(node.isNegated));
    }
  }

  #choice(parts: readonly Node[]): void {
    const jumps: number[] = [];
    for (const [i, part] of parts.entries()) {
      const fork = i < parts.length - 1 ? this.#fork(false) : -1;
      this.compile(part);
      if (fork < 0) continue;
      jumps.push(this.emit(kJump, 0));
      this.#land(fork, 2);
    }
    for (const jump of jumps) this.#land(jump, 1);
  }

  /** Compiles a part that is matched on its own. */
  #inner(part: Node, ...instruction: readonly number[]): void {
    const place = this.emit(...instruction);
    this.compile(part);
    this.emit(kDone);
    this.#land(place, 1);
  }

  #repeat({ part, least, most, mode }: Repeat): void {
    const set = setOf(part);
    if (set !== undefined) {
      const run = mode === "greedy" ? kGreedyRun : mode === "lazy" ? kLazyRun : kPossessiveRun;
      return void this.emit(run, this.#indexOf(set), least, Math.min(most, kEndless));
    }
    if (mode === "possessive") return this.#inner({ kind: "repeat", part, least, most, mode: "greedy" }, kAtomic, 0);
    const isLazy = mode === "lazy";
    for (let i = 0; i < least; ++i) this.compile(part);
    if (most === Infinity) return this.#loop(part, isLazy);
    const forks: number[] = [];
    for (let i = least; i < most; ++i) {
      forks.push(this.#fork(isLazy));
      this.compile(part);
    }
    for (const fork of forks) this.#land(fork, isLazy ? 1 : 2);
  }

  /** Appends a fork between what follows it, which `isLazy` tries last, and a place that is not known yet. */
  #fork(isLazy: boolean): number {
    const next = this.code.length + 3;
    return isLazy ? this.emit(kFork, 0, next) : this.emit(kFork, next, 0);
  }

  /** A round of the loop that matches no characters is the last one. */
  #loop(part: Node, isLazy: boolean): void {
    const register = canBeEmpty(part) ? this.#registers++ : -1;
    const fork = this.#fork(isLazy);
    if (register >= 0) this.emit(kMark, register);
    this.compile(part);
    const check = register >= 0 ? this.emit(kUnlessMoved, register, 0) : -1;
    this.emit(kJump, fork);
    this.#land(fork, isLazy ? 1 : 2);
    if (check >= 0) this.#land(check, 2);
  }
}

export function compile(pattern: string, node: Node): Program {
  const compiler = new Compiler(pattern);
  compiler.compile(node);
  compiler.emit(kDone);
  return { code: Int32Array.from(compiler.code), sets: compiler.sets };
}
