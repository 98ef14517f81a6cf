// SPDX-License-Identifier: Apache-2.0
/**
 * Reads regular expressions in Oniguruma's Ruby syntax (doc/RE in its sources), as tokenizer.json has them. What is not known here is refused,
 * since a pattern with another meaning would split texts wrongly without an error.
 */
import { show } from "../module/failures.js";
import { CharacterSet, type Members, Property, type Range } from "./character-set.js";
import { lengthOf, type Node, type Place, unknownPart } from "./nodes.js";

const kMaxPattern = 1 << 16; // in characters
const kMaxRepeats = 65_535;
const kMaxDepth = 250;
const kMaxCases = 1 << 16; // characters in ranges whose other cases have to be found

interface Flags {
  readonly ignoresCase: boolean;
  readonly dotIsAny: boolean;
  readonly isSpaced: boolean;
}

const kNothing: Members = { ranges: [], properties: [], others: [] };
const join = (all: readonly Members[]): Members => ({
  ranges: all.flatMap(({ ranges }) => ranges),
  properties: [...new Set(all.flatMap(({ properties }) => properties))],
  others: [...new Set(all.flatMap(({ others }) => others))],
});
const ranges = (...all: readonly (readonly [number, number])[]): Members =>
  ({ ...kNothing, ranges: all.map(([first, last]) => ({ first, last })) });
const one = (code: number): Members => ranges([code, code]);
const properties = (...names: readonly string[]): Members =>
  ({ ...kNothing, properties: names.map((name) => Property.of(`\\p{${name}}`)) });
const others = (...names: readonly string[]): Members =>
  ({ ...kNothing, others: names.map((name) => Property.of(`\\p{${name}}`)) });

const kWordClass = properties("Alphabetic", "M", "Nd", "Pc");
/** Outside of classes, \w also contains the superscript digits and the fractions of Latin-1. */
const kWord = join([kWordClass, ranges([0xb2, 0xb3], [0xb9, 0xb9], [0xbc, 0xbe])]);
const kHex = ranges([0x30, 0x39], [0x41, 0x46], [0x61, 0x66]);
const kLineEnds = ranges([0xa, 0xd], [0x85, 0x85], [0x2028, 0x2029]);

type Escapes = Readonly<Record<string, Members>>;

const kSameEscapes: Escapes = {
  a: one(7), e: one(0x1b), f: one(0xc), n: one(0xa), r: one(0xd), t: one(9), v: one(0xb),
  d: properties("Nd"), D: others("Nd"), s: properties("White_Space"), S: others("White_Space"), h: kHex,
};
const kEscapes: Escapes = { ...kSameEscapes, w: kWord };
const kClassEscapes: Escapes = { ...kSameEscapes, w: kWordClass, b: one(8) };
/** Escapes for all that others do not stand for. */
const kNegatedEscapes: Escapes = { W: kWord, H: kHex };
const kPlaces: Readonly<Record<string, Place>> = { A: "start", z: "end", Z: "last-line-end" };

const kPosixClasses: Escapes = {
  alpha: properties("Alphabetic"), alnum: properties("Alphabetic", "Nd"), digit: properties("Nd"),
  space: properties("White_Space"), upper: properties("Uppercase"), lower: properties("Lowercase"),
  word: kWordClass, xdigit: kHex,
};

const setOf = (members: Members, isNegated = false): Node => ({ kind: "set", set: new CharacterSet(members, isNegated) });
const sequence = (parts: readonly Node[]): Node => ({ kind: "sequence", parts });
const choice = (parts: readonly Node[]): Node => ({ kind: "choice", parts });
const look = (part: Node, isNegated: boolean): Node => ({ kind: "look", part, isNegated });
const behind = (part: Node, count: number): Node => sequence([{ kind: "back", count }, part]);

/** A place with a word on one side only, or else on both or none. */
function boundary(isThere: boolean): Node {
  const word = setOf(kWord);
  return choice([false, true].map((isWord) => {
    const isWordAfter = isWord !== isThere;
    return sequence([look(behind(word, 1), !isWord), look(word, !isWordAfter)]);
  }));
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

class Parser {
  readonly #pattern: string;
  #at = 0;
  #depth = 0;
  #cases = 0;
  #flags: Flags = { ignoresCase: false, dotIsAny: false, isSpaced: false };

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): Node {
    if (this.#pattern.length > kMaxPattern) this.#refuse(`${this.#pattern.length} characters`, `at most ${kMaxPattern}`);
    const node = this.#choice();
    if (this.#at < this.#pattern.length) this.#refuse("a parenthesis that closes nothing");
    return node;
  }

  #refuse(what: string, expected?: string): never {
    throw unknownPart(this.#pattern, expected ? what : `${what} at character ${this.#at}`, expected);
  }

  #sees(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at);
  }

  /** Steps over `text` if it comes next. */
  #take(text: string): boolean {
    const sees = this.#sees(text);
    if (sees) this.#at += text.length;
    return sees;
  }

  /** Steps over what `regex`, a sticky one, finds here. */
  #takeMatch(regex: RegExp): RegExpExecArray | null {
    regex.lastIndex = this.#at;
    const match = regex.exec(this.#pattern);
    if (match) this.#at += match[0].length;
    return match;
  }

  #takeCode(): number {
    const code = this.#pattern.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  #choice(): Node {
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0] as Node : choice(parts);
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (this.#skip(); this.#at < this.#pattern.length && !this.#sees("|") && !this.#sees(")"); this.#skip()) {
      const atom = this.#atom();
      if (atom) parts.push(this.#repeated(atom));
    }
    return sequence(parts);
  }

  /** Steps over spaces and comments where (?x) has them ignored. */
  #skip(): void {
    if (this.#flags.isSpaced) this.#takeMatch(/(?:\s+|#[^\n]*)*/y);
  }

  /** Returns nothing for a group that sets flags only. */
  #atom(): Node | undefined {
    if (this.#sees("(")) return this.#group();
    if (this.#sees("[")) return this.#class();
    if (this.#sees("\\")) return this.#escape();
    if (/[*+?]/.test(this.#pattern.charAt(this.#at))) this.#refuse("a quantifier of nothing");
    if (this.#take("^")) return { kind: "place", place: "line-start" };
    if (this.#take("$")) return { kind: "place", place: "line-end" };
    if (this.#take(".")) return this.#flags.dotIsAny ? setOf(kNothing, true) : setOf(one(0xa), true);
    return this.#character(this.#takeCode());
  }

  #character(code: number): Node {
    return this.#flags.ignoresCase ? this.#set(one(code)) : { kind: "character", code };
  }

  #set(members: Members, isNegated = false): Node {
    const { ignoresCase } = this.#flags;
    if (ignoresCase) {
      for (const { first, last } of members.ranges) this.#cases += last - first + 1;
      if (this.#cases > kMaxCases) this.#refuse("ranges of too many characters of either case");
    }
    return { kind: "set", set: new CharacterSet(members, isNegated, ignoresCase) };
  }

  #repeated(atom: Node): Node {
    this.#skip();
    const interval = this.#takeMatch(/\{(?!,?\})(\d*)(?:(,)(\d*))?\}/y);
    let node = atom;
    if (interval) {
      const [, from = "", comma, to = ""] = interval;
      const least = Number(from), most = comma ? (to === "" ? Infinity : Number(to)) : least;
      if (least > kMaxRepeats || (most > kMaxRepeats && most !== Infinity)) this.#refuse("an interval that is too large");
      if (least > most) this.#refuse("an interval from more to less");
      node = { kind: "repeat", part: atom, least, most, mode: this.#take("?") ? "lazy" : "greedy" };
      if (!this.#sees("+")) return this.#withoutQuantifier(node); // a + after an interval repeats it
    }
    const [sign] = this.#takeMatch(/[*+?]/y) ?? [];
    if (!sign) return node;
    const mode = this.#take("?") ? "lazy" : this.#take("+") ? "possessive" : "greedy";
    const [least, most] = [sign === "+" ? 1 : 0, sign === "?" ? 1 : Infinity];
    return this.#withoutQuantifier({ kind: "repeat", part: node, least, most, mode });
  }

  #withoutQuantifier(node: Node): Node {
    this.#skip();
    if (/[*+?]/.test(this.#pattern.charAt(this.#at))) this.#refuse("a quantifier after a quantifier");
    return node;
  }

  #group(): Node | undefined {
    const start = this.#at;
    const before = this.#flags;
    if (this.#sees("(*")) this.#refuse('"(*"');
    if (++this.#depth > kMaxDepth) this.#refuse(`groups more than ${kMaxDepth} deep`);
    const kind = this.#takeMatch(/\((?:\?(?:[:>=!]|<[=!]|<[\p{L}_][\p{L}\p{N}_]*>|([imx]*)(?:-([imx]*))?([:)])))?/uy);
    if (!kind || (kind[0] === "(" && this.#sees("?"))) return this.#refuse("a group of this kind");
    const [opening, on, off, flagsEnd] = kind;
    if (flagsEnd) this.#flags = withFlags(before, on ?? "", off ?? "");
    if (flagsEnd === ")") { // the flags hold until the group around them ends
      --this.#depth;
      return undefined;
    }
    const part = this.#choice();
    if (!this.#take(")")) {
      this.#at = start;
      this.#refuse("a group without end");
    }
    this.#flags = before;
    --this.#depth;
    if (opening === "(?>") return { kind: "atomic", part };
    if (!/^\(\?<?[=!]$/.test(opening)) return part;
    return look(opening.includes("<") ? this.#behind(part) : part, opening.endsWith("!"));
  }

  /** Steps back before each choice, which must have a fixed length. */
  #behind(part: Node): Node {
    const inner = part.kind === "sequence" && part.parts.length === 1 ? part.parts[0] as Node : part;
    return choice((inner.kind === "choice" ? inner.parts : [inner]).map((one) => {
      const count = lengthOf(one);
      if (count === undefined || !(count <= kMaxRepeats)) return this.#refuse("a look-behind of no fixed length");
      return behind(one, count);
    }));
  }

  #escape(): Node {
    const letter = this.#pattern.charAt(this.#at + 1);
    const place = own(kPlaces, letter), negated = own(kNegatedEscapes, letter);
    if (!place && !negated && !/[bBR]/.test(letter)) {
      const members = this.#escaped(kEscapes);
      const code = codeOf(members);
      return code === undefined ? this.#set(members) : this.#character(code);
    }
    this.#at += 2;
    if (place) return { kind: "place", place };
    if (negated) return this.#set(negated, true);
    if (letter !== "R") return boundary(letter === "b");
    return { kind: "atomic", part: choice([sequence([setOf(one(0xd)), setOf(one(0xa))]), setOf(kLineEnds)]) };
  }

  /** Reads an escape that stands for characters: \p{…}, \x{…}, \u0000, the letters of a table, and signs. */
  #escaped(escapes: Escapes): Members {
    const property = this.#takeMatch(/\\([pP])\{(\^?)(\w+)\}/y);
    if (property) return this.#property(property[3] ?? "", (property[1] === "P") !== (property[2] === "^"));
    const number = this.#takeMatch(/\\(?:x\{([\dA-Fa-f]{1,8})\}|x([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{4}))/y);
    if (number) {
      const code = parseInt(number[1] ?? number[2] ?? number[3] ?? "", 16);
      return code > 0x10ffff || (code & 0x1ff800) === 0xd800 ? this.#refuse(`${number[0]}, which is no character,`) : one(code);
    }
    const letter = this.#pattern.charAt(this.#at + 1);
    const members = own(escapes, letter);
    if (!members && (letter === "" || /[A-Za-z0-9]/.test(letter))) this.#refuse(`the escape ${show(`\\${letter}`)}`);
    ++this.#at;
    const code = this.#takeCode();
    return members ?? one(code);
  }

  /** A name that stands alone is a category, a property of two values or a script. A script has no characters that several scripts share. */
  #property(name: string, isNegated: boolean): Members {
    const capitalized = name.charAt(0).toUpperCase() + name.slice(1).toLowerCase();
    for (const source of [name, `Script=${name}`, capitalized, `Script=${capitalized}`]) {
      try {
        return isNegated ? others(source) : properties(source);
      } catch {
        // It may be of the next kind.
      }
    }
    return this.#refuse(`the unknown property ${show(name)}`);
  }

  /** Reads a class. A class inside a class is joined to it. */
  #class(): Node {
    const start = this.#at;
    const isNegated = this.#takeMatch(/\[(\^?)/y)?.[1] === "^";
    const all: Members[] = this.#take("]") ? [one(0x5d)] : [];
    for (let depth = 1; depth > 0;) {
      if (this.#at === this.#pattern.length) {
        this.#at = start;
        this.#refuse("a class without end");
      }
      if (this.#sees("&&")) this.#refuse("an intersection of classes");
      const posix = this.#takeMatch(/\[:(\^?\w*):\]/y);
      if (posix) {
        all.push(own(kPosixClasses, posix[1] ?? "") ?? this.#refuse(`the POSIX class ${show(posix[0])}`));
      } else if (this.#take("[")) {
        if (this.#sees("^") || this.#sees("-") || this.#pattern.charAt(this.#at - 2) === "-") this.#refuse("such a class in a class");
        if (this.#take("]")) all.push(one(0x5d));
        ++depth;
      } else if (this.#take("]")) {
        --depth;
        if (depth > 0 && this.#sees("-")) this.#refuse("a range beside a class in a class");
      } else {
        all.push(this.#classPart());
      }
    }
    return this.#set(join(all), isNegated);
  }

  /** Reads a character, a range of them, or an escape. */
  #classPart(): Members {
    const first = this.#classItem();
    const from = codeOf(first);
    if (from === undefined || !this.#sees("-") || this.#pattern.charAt(this.#at + 1) === "]") return first;
    ++this.#at;
    if (this.#at === this.#pattern.length) return first; // the class has no end
    if (this.#sees("[")) this.#refuse("such a class in a class");
    const to = codeOf(this.#classItem());
    if (to === undefined || to < from) return this.#refuse("a range of no characters");
    return ranges([from, to]);
  }

  #classItem(): Members {
    return this.#sees("\\") ? this.#escaped(kClassEscapes) : one(this.#takeCode());
  }
}

/** Returns the code of a single character. */
function codeOf({ ranges: all, properties: some, others: more }: Members): number | undefined {
  const [range, ...rest] = all as readonly [Range?];
  const isOne = range?.first === range?.last && rest.length + some.length + more.length === 0;
  return isOne ? range?.first : undefined;
}

/** In Ruby, m makes the dot match newlines. */
function withFlags(flags: Flags, on: string, off: string): Flags {
  const value = (letter: string, before: boolean): boolean => !off.includes(letter) && (on.includes(letter) || before);
  return {
    ignoresCase: value("i", flags.ignoresCase), dotIsAny: value("m", flags.dotIsAny), isSpaced: value("x", flags.isSpaced),
  };
}

/** Reads a regular expression. Throws an "unsupported" error that says what is not known. */
export function parsePattern(pattern: string): Node {
  return new Parser(pattern).parse();
}
