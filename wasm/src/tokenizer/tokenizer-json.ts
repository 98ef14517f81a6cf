// SPDX-License-Identifier: Apache-2.0
/** This checks that the tokenizer library reads a tokenizer.json as it is meant. What it would ignore or trip over is an error here. */
import { kFiles } from "../files/names.js";
import { reading, show, showIfAny, wrong } from "../module/failures.js";
import type { ErrorCode } from "../types/errors.js";

const kFile = kFiles.tokenizer;
const kMaxSteps = 256;
const kMaxDepth = 32;

/** A value knows where it stands in the file. A check that fails throws an error that says so. */
class Field {
  constructor(readonly name: string, readonly value: unknown) {}

  get isNull(): boolean {
    return this.value === undefined || this.value === null;
  }

  at(key: string): Field {
    return this.#member(key, this.name === "" ? key : `${this.name}.${key}`);
  }

  /** Returns the same for a key from the file, which may be anything. */
  named(key: string): Field {
    return this.#member(key, `${this.name}[${show(key)}]`);
  }

  #member(key: string, name: string): Field {
    const value = this.object() as Readonly<Record<string, unknown>>;
    return new Field(name, Object.hasOwn(value, key) ? value[key] : undefined);
  }

  object(): object {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) this.fail("an object");
    return this.value;
  }

  list(): Field[] {
    if (!Array.isArray(this.value)) this.fail("a list");
    return (this.value as unknown[]).map((item, i) => new Field(`${this.name}[${i}]`, item));
  }

  text(): string {
    if (typeof this.value !== "string") this.fail("a string");
    return this.value;
  }

  flag(): boolean {
    if (typeof this.value !== "boolean") this.fail("true or false");
    return this.value;
  }

  /** An absent flag is false. */
  flagIfAny(): boolean {
    return this.isNull ? false : this.flag();
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
    throw wrong(code, this.name === "" ? kFile : `${kFile}: ${this.name}`, showIfAny(this.value), expected);
  }

  /** Refuses what is right, but not offered here. */
  refuse(offered: string): never {
    this.fail(offered, "unsupported");
  }
}

type Check = (field: Field, ids: ReadonlyMap<string, number>) => void;
type Kinds = Readonly<Record<string, Check>>;

const kAnything: Check = () => undefined;

function flags(...names: readonly string[]): Check {
  return (field) => names.forEach((name) => field.at(name).flag());
}

function flagsIfAny(...names: readonly string[]): Check {
  return (field) => names.forEach((name) => field.at(name).flagIfAny());
}

function pattern(field: Field): void {
  const given = field.at("pattern");
  const [text, regex] = [given.at("String"), given.at("Regex")];
  if (text.isNull === regex.isNull) given.fail('{"String": …} or {"Regex": …}');
  if ((regex.isNull ? text : regex).text() === "") given.fail("a pattern that is not empty");
}

const kNormalizers: Kinds = {
  BertNormalizer: (field) => {
    flags("clean_text", "handle_chinese_chars", "lowercase")(field, new Map());
    flagsIfAny("strip_accents")(field, new Map());
  },
  Lowercase: kAnything, NFC: kAnything, NFD: kAnything, NFKC: kAnything, NFKD: kAnything, StripAccents: kAnything,
  Prepend: (field) => void field.at("prepend").text(),
  Replace: (field) => {
    pattern(field);
    const content = field.at("content");
    if (content.text().includes("$")) content.refuse("a text without $");
  },
  Strip: flags("strip_left", "strip_right"),
};

const kPreTokenizers: Kinds = {
  BertPreTokenizer: kAnything, Whitespace: kAnything, WhitespaceSplit: kAnything,
  ByteLevel: flagsIfAny("add_prefix_space", "use_regex"),
  Digits: flags("individual_digits"),
  Metaspace: (field) => {
    const [mark, scheme, prefix] = [field.at("replacement"), field.at("prepend_scheme"), field.at("add_prefix_space")];
    if (!mark.isNull && [...mark.text()].length !== 1) mark.fail("one character");
    if (!scheme.isNull && !["always", "first", "never"].includes(scheme.text())) scheme.refuse("always, first or never");
    if (!prefix.isNull && !prefix.flag() && scheme.isNull) prefix.refuse("true, or prepend_scheme beside it");
  },
  Punctuation: (field) => {
    const behavior = field.at("behavior");
    if (behavior.value !== "Contiguous") behavior.refuse("Contiguous");
  },
  Split: (field) => {
    pattern(field);
    const [behavior, inverted] = [field.at("behavior"), field.at("invert").flag()];
    const offered = inverted ? ["Removed"] : ["Removed", "Isolated"];
    if (!offered.includes(behavior.text())) behavior.refuse(offered.join(" or "));
  },
};

/** Checks a special token. The library finds it by its name, whatever ids stand beside it. */
function special(name: Field, id: Field, ids: ReadonlyMap<string, number>): void {
  const known = ids.get(name.text());
  if (known === undefined) name.fail("a token of model.vocab or added_tokens");
  if (id.id() !== known) id.fail(`${known}, the id of ${show(name.value)}`);
}

function ends(field: Field, ids: ReadonlyMap<string, number>): void {
  for (const name of ["cls", "sep"]) {
    const [token, id] = field.at(name).list();
    if (!token || !id) return field.at(name).fail("a token and its id");
    special(token, id, ids);
  }
}

function template(field: Field, texts: readonly string[], specials: Field, ids: ReadonlyMap<string, number>): void {
  for (const piece of field.list()) {
    const [text, token] = [piece.at("Sequence"), piece.at("SpecialToken")];
    if (text.isNull === token.isNull) piece.fail('{"Sequence": …} or {"SpecialToken": …}');
    const given = text.isNull ? token : text;
    given.at("type_id").id();
    const name = given.at("id");
    if (!text.isNull) {
      if (!texts.includes(name.text())) name.fail(texts.join(" or "));
      continue;
    }
    const entry = specials.named(name.text());
    if (entry.isNull) name.fail("one of post_processor's special_tokens");
    const list = entry.at("ids");
    const [id] = list.list();
    if (!id || list.list().length > 1) return list.refuse("one id");
    special(name, id, ids);
  }
}

const kPostProcessors: Kinds = {
  BertProcessing: ends, RobertaProcessing: ends, ByteLevel: kAnything,
  TemplateProcessing: (field, ids) => {
    const specials = field.at("special_tokens");
    template(field.at("single"), ["A"], specials, ids);
    template(field.at("pair"), ["A", "B"], specials, ids);
  },
};

/** Checks all steps of a pipeline, with Sequences of Sequences in its field `list`. */
function checkSteps(root: Field, list: string, kinds: Kinds, ids: ReadonlyMap<string, number>): void {
  let count = 0;
  const walk = (step: Field, depth: number): void => {
    const type = step.at("type");
    if (type.text() === "Sequence") {
      if (depth === kMaxDepth) step.refuse(`Sequences up to ${kMaxDepth} deep`);
      for (const inner of step.at(list).list()) walk(inner, depth + 1);
      return;
    }
    if (++count > kMaxSteps) step.refuse(`up to ${kMaxSteps} steps`);
    const check = Object.hasOwn(kinds, type.text()) ? kinds[type.text()] : undefined;
    if (!check) return type.refuse(`Sequence, ${Object.keys(kinds).join(", ")}`);
    check(step, ids);
  };
  if (!root.isNull) walk(root, 0);
}

/** Reads a vocabulary { token: id }. */
function idsOf(vocab: Field): Map<string, number> {
  const ids = new Map<string, number>();
  for (const token of Object.keys(vocab.object())) ids.set(token, vocab.named(token).id());
  return ids;
}

function checkBpe(model: Field): Map<string, number> {
  const ids = idsOf(model.at("vocab"));
  for (const merge of model.at("merges").list()) {
    const pair: unknown = typeof merge.value === "string" ? merge.value.split(" ") : merge.value;
    const isPair = Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string" && part !== "");
    if (!isPair) merge.fail('two tokens: "a b" or ["a", "b"]');
  }
  for (const name of ["unk_token", "end_of_word_suffix"]) if (!model.at(name).isNull) model.at(name).text();
  const [prefix, dropout] = [model.at("continuing_subword_prefix"), model.at("dropout")];
  if (!prefix.isNull && prefix.text() !== "") prefix.refuse("none");
  if (!dropout.isNull && dropout.value !== 0) dropout.refuse("none");
  for (const name of ["fuse_unk", "byte_fallback", "ignore_merges"]) model.at(name).flagIfAny();
  return ids;
}

function checkUnigram(model: Field): Map<string, number> {
  const vocab = model.at("vocab");
  const entries = vocab.list();
  if (entries.length === 0) vocab.fail("a list of tokens and their scores");
  const tokens = entries.map((entry) => {
    const [token, score] = entry.list();
    return token && Number.isFinite(score?.value) ? token.text() : entry.fail("a token and its score");
  });
  const unknown = model.at("unk_id");
  if (!unknown.isNull) unknown.whole(0, tokens.length - 1);
  if (model.at("byte_fallback").flagIfAny()) model.at("byte_fallback").refuse("false");
  return new Map(tokens.map((token, id) => [token, id]));
}

function checkWords(model: Field): Map<string, number> {
  const ids = idsOf(model.at("vocab"));
  model.at("unk_token").text();
  return ids;
}

const kModels: Readonly<Record<string, (model: Field) => Map<string, number>>> = {
  BPE: checkBpe,
  Unigram: checkUnigram,
  WordLevel: checkWords,
  WordPiece: (model) => {
    model.at("continuing_subword_prefix").text();
    const most = model.at("max_input_chars_per_word");
    if (!most.isNull) most.whole(0, 1000); // pieces of a word are found in quadratic time
    return checkWords(model);
  },
};

/** Files of the format's first versions do not say which model they hold. */
function modelType(model: Field): string {
  const type = model.at("type");
  if (type.isNull) {
    if (!model.at("merges").isNull) return "BPE";
    if (Array.isArray(model.at("vocab").value)) return "Unigram";
    if (!model.at("continuing_subword_prefix").isNull) return "WordPiece";
  }
  const offered = Object.keys(kModels).join(", ");
  if (type.isNull) type.fail(`one of ${offered}`);
  if (!Object.hasOwn(kModels, type.text())) type.refuse(`one of ${offered}`);
  return type.text();
}

function checkAdded(tokens: Field, ids: Map<string, number>): void {
  const contents = new Map<number, string>();
  for (const token of tokens.isNull ? [] : tokens.list()) {
    const [content, id] = [token.at("content").text(), token.at("id").id()];
    const known = ids.get(content) ?? id;
    if (known !== id) token.at("id").fail(`${known}, which the file gives to ${show(content)} already`);
    const other = contents.get(id) ?? content;
    if (other !== content) token.at("id").fail(`another one: ${show(other)} has it`);
    for (const name of ["lstrip", "rstrip", "normalized", "special"]) token.at(name).flagIfAny();
    if (token.at("single_word").flagIfAny()) token.at("single_word").refuse("false");
    ids.set(content, id);
    contents.set(id, content);
  }
}

/** Returns the parsed tokenizer.json as the library wants it. Throws "format" and "unsupported" errors that name the field. */
export function checkTokenizer(json: object): { file: object; config: object } {
  return reading(kFile, () => {
    const file = new Field("", json);
    const model = file.at("model");
    const type = modelType(model);
    const ids = kModels[type]?.(model) ?? new Map<string, number>();
    checkAdded(file.at("added_tokens"), ids);
    checkSteps(file.at("normalizer"), "normalizers", kNormalizers, ids);
    checkSteps(file.at("pre_tokenizer"), "pretokenizers", kPreTokenizers, ids);
    checkSteps(file.at("post_processor"), "processors", kPostProcessors, ids);
    // The library wants absent fields as null. It never decodes ids here.
    const absent = { normalizer: null, pre_tokenizer: null, post_processor: null, added_tokens: [] };
    const given = Object.entries(json).filter(([, value]) => value !== null && value !== undefined);
    return {
      file: { ...absent, ...Object.fromEntries(given), model: { ...model.object(), type }, decoder: null },
      config: type === "WordLevel" ? { unk_token: model.at("unk_token").text() } : {},
    };
  });
}
