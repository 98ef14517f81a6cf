// SPDX-License-Identifier: Apache-2.0
/** Post-processors add special tokens to the tokens of a text, or of two. */
import { wrong } from "../module/failures.js";
import { type Field, type Kinds, make, stepsOf } from "./fields.js";

const kMaxTokens = 16 << 20;

/** Tokens with the number of the text that each counts to. */
interface Tokens {
  readonly ids: number[];
  readonly segments: number[];
}

/** The number of tokens that all templates may still make of a text. */
interface Budget {
  left: number;
}

type Step = (texts: readonly Tokens[], budget: Budget) => readonly Tokens[];

/** Puts one text, or two, together. */
export type PostProcessor = (texts: readonly number[][]) => Tokens;

/** One place of a template: the first or second text, or special tokens. */
interface Place {
  readonly text?: number;
  readonly ids?: readonly number[];
  readonly segment: number;
}

function filled(places: readonly Place[], texts: readonly Tokens[], budget: Budget): Tokens {
  const ids: number[] = [], segments: number[] = [];
  for (const { text, ids: own = [], segment } of places) {
    const more = text === undefined ? own : texts[text]?.ids ?? [];
    budget.left -= more.length;
    if (budget.left < 0) {
      throw wrong("memory", "the template", `${kMaxTokens - budget.left} tokens`, `at most ${kMaxTokens}`, "makes");
    }
    for (const id of more) {
      ids.push(id);
      segments.push(segment);
    }
  }
  return { ids, segments };
}

/** "cls" and "sep" are [token, id]. Between two texts, RoBERTa has two of its separators, and does not count texts. */
function makeEnds(field: Field, isRoberta: boolean): Step {
  const end = (name: string, segment: number): Place => ({ ids: [field.at(name).element(1).id()], segment });
  const second = isRoberta ? 0 : 1;
  const single: Place[] = [end("cls", 0), { text: 0, segment: 0 }, end("sep", 0)];
  const pair = [...single, ...isRoberta ? [end("sep", 0)] : [], { text: 1, segment: second }, end("sep", second)];
  return (texts, budget) => [filled(texts.length > 1 ? pair : single, texts, budget)];
}

function placeOf(piece: Field, texts: readonly string[], special: Field): Place {
  const [sequence, token] = [piece.at("Sequence"), piece.at("SpecialToken")];
  const given = sequence.isNull ? token : sequence;
  const [name, type] = [given.at("id"), given.at("type_id")];
  const segment = type.isNull ? 0 : type.id();
  if (!sequence.isNull) {
    const text = texts.indexOf(name.text());
    return text < 0 ? name.fail(texts.map((known) => `"${known}"`).join(" or ")) : { text, segment };
  }
  const entry = special.named(name.text());
  if (entry.isNull) name.fail("one of post_processor.special_tokens");
  return { ids: entry.at("ids").list().map((id) => id.id()), segment };
}

function makeTemplate(field: Field): Step {
  const special = field.at("special_tokens");
  const single = field.at("single").list().map((piece) => placeOf(piece, ["A"], special));
  const pair = field.at("pair").listIfAny().map((piece) => placeOf(piece, ["A", "B"], special));
  return (texts, budget) => [filled(texts.length > 1 ? pair : single, texts, budget)];
}

const kKinds: Kinds<Step> = {
  BertProcessing: (field) => makeEnds(field, false),
  ByteLevel: () => (texts) => texts, // Hugging Face's library trims offsets here, and there are none here
  RobertaProcessing: (field) => makeEnds(field, true),
  TemplateProcessing: makeTemplate,
};

/** Makes the post-processor of tokenizer.json's "post_processor", which may be null. */
export function makePostProcessor(field: Field): PostProcessor {
  const steps = stepsOf(field, "processors").map((step) => make(kKinds, step));
  return (texts) => {
    const given = texts.map((ids, text) => ({ ids, segments: ids.map(() => text) }));
    const budget = { left: kMaxTokens };
    const done = steps.reduce<readonly Tokens[]>((all, step) => step(all, budget), given);
    return { ids: done.flatMap(({ ids }) => ids), segments: done.flatMap(({ segments }) => segments) };
  };
}
