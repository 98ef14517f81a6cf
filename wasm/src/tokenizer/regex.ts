// SPDX-License-Identifier: Apache-2.0
/**
 * Regular expressions of tokenizer.json, matched by backtracking within the steps that a text has. JavaScript's own could hold a page for
 * ever, and nothing could end them.
 */
import { show } from "../module/failures.js";
import { HeadlensError } from "../types/errors.js";
import type { CharacterSet } from "./character-set.js";
import type { Place } from "./nodes.js";
import { parsePattern } from "./oniguruma.js";
import {
  compile, kAtomic, kBack, kCharacter, kDone, kFork, kGreedyRun, kJump, kLazyRun, kLook, kMark, kPlace, kPlaces,
  kPossessiveRun, kSet, kUnlessMoved, type Program,
} from "./program.js";
import { kTooMany, type Steps } from "./steps.js";
import { before, codeAt, unitsOf } from "./unicode.js";

/** A match, as positions in UTF-16. */
export interface Match {
  readonly begin: number;
  readonly end: number;
}

const kFailed = -1;
const kStepsPerSearch = 16; // the cost of starting a search
const kMaxChoices = 1 << 24; // numbers, three for each choice
const kNewline = 0xa;

class OutOfSteps extends Error {}

/** The state of matching a program against a text: an instruction and a position, and all choices that could be made otherwise. */
class Matcher {
  readonly #code: Int32Array;
  readonly #sets: Program["sets"];
  readonly #text: string;
  readonly #steps: Steps;
  readonly #registers: number[] = [];
  /** Each choice is the place of an instruction, and two numbers that this one needs. */
  readonly #choices: number[] = [];
  #pc = 0;
  #at = 0;

  constructor({ code, sets }: Program, text: string, steps: Steps) {
    this.#code = code;
    this.#sets = sets;
    this.#text = text;
    this.#steps = steps;
  }

  /** Carries out instructions from `pc` to kDone. Returns the position there, or kFailed. */
  run(pc: number, at: number): number {
    const depth = this.#choices.length;
    this.#go(pc, at);
    while (this.#code[this.#pc] !== kDone) {
      if (--this.#steps.left <= 0) throw new OutOfSteps();
      if (!this.#advance() && !this.#backtrack(depth)) return kFailed;
    }
    this.#choices.length = depth;
    return this.#at;
  }

  #go(pc: number, at: number): boolean {
    this.#pc = pc;
    this.#at = at;
    return true;
  }

  #operand(i: number): number {
    return this.#code[this.#pc + i] as number;
  }

  /** Carries out one instruction. Returns false when it does not match. */
  #advance(): boolean {
    const pc = this.#pc, at = this.#at, first = this.#operand(1);
    switch (this.#code[pc] as number) {
      case kCharacter:
        return at < this.#text.length && codeAt(this.#text, at) === first && this.#go(pc + 2, at + unitsOf(first));
      case kSet: {
        const end = this.#stepOver(first, at);
        return end !== at && this.#go(pc + 2, end);
      }
      case kGreedyRun:
      case kLazyRun:
      case kPossessiveRun: return this.#startRun(first, this.#operand(2), this.#operand(3));
      case kFork:
        this.#choose(pc, this.#operand(2), at);
        return this.#go(first, at);
      case kJump: return this.#go(first, at);
      case kPlace: return this.#isAt(first) && this.#go(pc + 2, at);
      case kBack: return this.#stepBack(first) && this.#go(pc + 2, this.#at);
      case kLook: {
        const mustFail = this.#operand(2) === 1;
        return (this.run(pc + 3, at) === kFailed) === mustFail && this.#go(first, at);
      }
      case kAtomic: {
        const end = this.run(pc + 2, at);
        return end !== kFailed && this.#go(first, end);
      }
      case kMark:
        this.#choose(pc, this.#registers[first] ?? kFailed, first);
        this.#registers[first] = at;
        return this.#go(pc + 2, at);
      case kUnlessMoved: return this.#go(this.#registers[first] === at ? this.#operand(2) : pc + 3, at);
      default: return false;
    }
  }

  /** Returns the end of the character at `at` if it is in the set, and else `at`. */
  #stepOver(set: number, at: number): number {
    if (at >= this.#text.length) return at;
    const code = codeAt(this.#text, at), characters = this.#sets[set] as CharacterSet;
    this.#steps.left -= characters.cost;
    return characters.has(code) ? at + unitsOf(code) : at;
  }

  #stepBack(count: number): boolean {
    this.#steps.left -= count;
    for (let i = 0; i < count; ++i) {
      if (this.#at === 0) return false;
      this.#at = before(this.#text, this.#at);
    }
    return true;
  }

  #startRun(set: number, least: number, most: number): boolean {
    const pc = this.#pc, kind = this.#code[pc];
    const wanted = kind === kLazyRun ? least : most;
    let count = 0, end = this.#at, floor = end; // a greedy run never gives back what comes before the floor
    for (; count < wanted; ++count) {
      const next = this.#stepOver(set, end);
      if (next === end) break;
      end = next;
      if (count < least) floor = end;
    }
    this.#steps.left -= count;
    if (count < least) return false;
    if (kind === kGreedyRun && end > floor) this.#choose(pc, end, floor);
    if (kind === kLazyRun && count < most) this.#choose(pc, end, most - count);
    return this.#go(pc + 4, end);
  }

  #isAt(place: number): boolean {
    const text = this.#text, at = this.#at;
    const isEnd = at === text.length, sees = text.charCodeAt(at) === kNewline;
    switch (kPlaces[place] as Place) {
      case "line-start": return at === 0 || (!isEnd && text.charCodeAt(at - 1) === kNewline);
      case "line-end": return isEnd || sees;
      case "start": return at === 0;
      case "end": return isEnd;
      case "last-line-end": return isEnd || (sees && at + 1 === text.length);
    }
  }

  #choose(pc: number, a: number, b: number): void {
    if (this.#choices.push(pc, a, b) > kMaxChoices) throw new OutOfSteps();
  }

  /** Goes back to the last choice, and makes it otherwise. Returns false when none is left above `depth`. */
  #backtrack(depth: number): boolean {
    while (this.#choices.length > depth) {
      const b = this.#choices.pop() as number, a = this.#choices.pop() as number, pc = this.#choices.pop() as number;
      switch (this.#code[pc] as number) {
        case kFork: return this.#go(a, b);
        case kMark:
          this.#registers[b] = a;
          break;
        case kGreedyRun: {
          const end = before(this.#text, a);
          if (end > b) this.#choose(pc, end, b);
          return this.#go(pc + 4, end);
        }
        default: { // a lazy run
          const end = this.#stepOver(this.#code[pc + 1] as number, a);
          if (end === a) break;
          if (b > 1) this.#choose(pc, end, b - 1);
          return this.#go(pc + 4, end);
        }
      }
    }
    return false;
  }
}

export class Regex {
  readonly #program: Program;
  readonly #pattern: string;

  /** `pattern` is in Oniguruma's syntax. */
  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#program = compile(pattern, parsePattern(pattern));
  }

  /** Returns all matches from left to right, without empty ones right after another match. Throws when it takes more than `steps`. */
  findAll(text: string, steps: Steps): Match[] {
    try {
      if (!steps.take(kStepsPerSearch)) throw new OutOfSteps();
      return this.#find(text, steps);
    } catch (error) {
      if (!(error instanceof OutOfSteps)) throw error;
      const argument = `the regular expression ${show(this.#pattern)}`;
      throw new HeadlensError("value", `${argument} gives up on the text: ${kTooMany}`, { argument, got: kTooMany });
    }
  }

  #find(text: string, steps: Steps): Match[] {
    const matcher = new Matcher(this.#program, text, steps);
    const matches: Match[] = [];
    let lastEnd = -1;
    for (let begin = 0; begin <= text.length;) {
      const end = matcher.run(0, begin);
      if (end !== kFailed && (begin < end || lastEnd !== end)) {
        matches.push({ begin, end });
        lastEnd = end;
        if (begin < end) {
          begin = end;
          continue;
        }
      }
      begin += begin < text.length ? unitsOf(codeAt(text, begin)) : 1;
    }
    return matches;
  }
}
