// SPDX-License-Identifier: Apache-2.0
/** A set of characters is what one place of a regular expression matches. */

const kPage = 256;
const kFirstPlane = 0x10000;
const kNo = 1, kYes = 2;

/** A property of Unicode, such as \p{L}. What JavaScript says of a character is kept, except for the many and rare ones beyond U+FFFF. */
export class Property {
  readonly #regex: RegExp;
  readonly #pages: Uint8Array[] = [];
  static readonly #all = new Map<string, Property>();

  private constructor(source: string) {
    this.#regex = new RegExp(`^${source}$`, "u");
  }

  /** Throws a SyntaxError when JavaScript does not know the property. */
  static of(source: string): Property {
    const property = Property.#all.get(source) ?? new Property(source);
    Property.#all.set(source, property);
    return property;
  }

  has(code: number): boolean {
    if (code >= kFirstPlane) return this.#ask(code);
    const page = this.#pages[code >> 8] ??= new Uint8Array(kPage);
    return (page[code & (kPage - 1)] ||= this.#ask(code) ? kYes : kNo) === kYes;
  }

  #ask(code: number): boolean {
    return this.#regex.test(String.fromCodePoint(code));
  }
}

const kCased = Property.of("\\p{Changes_When_Casemapped}");
const kDotlessI = 0x131; // its capital is I, but it is no other case of i

/** Returns the character and its other cases, without those of several characters. Two characters differ in case only if they share one. */
function casesOf(code: number): readonly number[] {
  if (code === kDotlessI || !kCased.has(code)) return [code];
  const char = String.fromCodePoint(code);
  const [lower, upper] = [char.toLowerCase(), char.toUpperCase()];
  return [char, lower, upper, upper.toLowerCase(), lower.toUpperCase()].flatMap((text) => {
    const first = text.codePointAt(0) ?? 0;
    return String.fromCodePoint(first) === text ? [first] : [];
  });
}

export interface Range {
  first: number;
  last: number;
}

function merged(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const { first, last } of [...ranges].sort((a, b) => a.first - b.first)) {
    const previous = result.at(-1);
    if (previous && first <= previous.last + 1) previous.last = Math.max(previous.last, last);
    else result.push({ first, last });
  }
  return result;
}

export interface Members {
  readonly ranges: readonly Range[];
  readonly properties: readonly Property[];
  /** Properties whose characters are not meant. */
  readonly others: readonly Property[];
}

const kAscii = 128;

export class CharacterSet {
  /** The number of steps that a look-up takes, which is 0 for those that take next to no time. */
  readonly cost: number;
  readonly #ranges: readonly Range[];
  /** These are the answers for characters of ASCII so far: 0 for those that were not asked for yet. */
  #ascii: Uint8Array | undefined;

  constructor(readonly members: Members, readonly isNegated = false, readonly ignoresCase = false) {
    const more = ignoresCase ? members.ranges.flatMap(casesIn) : [];
    this.cost = members.properties.length + members.others.length;
    this.#ranges = merged([...members.ranges, ...more]);
  }

  static of(code: number): CharacterSet {
    return new CharacterSet({ ranges: [{ first: code, last: code }], properties: [], others: [] });
  }

  has(code: number): boolean {
    if (code >= kAscii) return this.#find(code);
    const ascii = this.#ascii ??= new Uint8Array(kAscii);
    return (ascii[code] ||= this.#find(code) ? kYes : kNo) === kYes;
  }

  #find(code: number): boolean {
    return this.#includes(code) !== this.isNegated;
  }

  /** Properties do not ignore case, as in the program. */
  #includes(code: number): boolean {
    for (const property of this.members.properties) if (property.has(code)) return true;
    for (const property of this.members.others) if (!property.has(code)) return true;
    return this.ignoresCase ? casesOf(code).some((one) => this.#isInRange(one)) : this.#isInRange(code);
  }

  #isInRange(code: number): boolean {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[middle]?.last ?? 0) < code) low = middle + 1;
      else high = middle;
    }
    return (this.#ranges[low]?.first ?? Infinity) <= code;
  }
}

/** Returns the other cases of the characters in the range. */
function casesIn({ first, last }: Range): Range[] {
  const cases: Range[] = [];
  for (let code = first; code <= last; ++code) {
    for (const other of casesOf(code)) if (other !== code) cases.push({ first: other, last: other });
  }
  return cases;
}
