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

/** Puts one text, or two, together. */
export type PostProcessor = (texts: readonly number[][]) => Tokens;

/** One place of a template: the first or second text, or special tokens. */
interface Place {
  readonly text?: number;
  readonly ids?: readonly number[];
  readonly segment: number;
}

/** The places that a step puts together: those for one text, and those for two. */
interface Template {
  readonly single: readonly Place[];
  readonly pair: readonly Place[];
}

const placesFor = ({ single, pair }: Template, texts: number): readonly Place[] => (texts > 1 ? pair : single);

/** Refuses texts of which templates, all together, make too many tokens, before any is made. */
function checkCounts(templates: readonly Template[], lengths: readonly number[]): void {
  let made = 0;
  templates.reduce<readonly number[]>((all, template) => {
    const countOf = ({ text, ids = [] }: Place): number => (text === undefined ? ids.length : all[text] ?? 0);
    const count = placesFor(template, all.length).reduce((sum, place) => sum + countOf(place), 0);
    made += count;
    if (made > kMaxTokens) throw wrong("memory", "the template", `${made} tokens`, `at most ${kMaxTokens}`, "makes");
    return [count];
  }, lengths);
}

function filled(places: readonly Place[], texts: readonly Tokens[]): Tokens {
  const ids: number[] = [], segments: number[] = [];
  for (const { text, ids: own = [], segment } of places) {
    for (const id of text === undefined ? own : texts[text]?.ids ?? []) {
      ids.push(id);
      segments.push(segment);
    }
  }
  return { ids, segments };
}

/** "cls" and "sep" are [token, id]. Between two texts, RoBERTa has two of its separators, and does not count texts. */
function makeEnds(field: Field, isRoberta: boolean): Template {
  const end = (name: string, segment: number): Place => ({ ids: [field.at(name).element(1).id()], segment });
  const second = isRoberta ? 0 : 1;
  const single: Place[] = [end("cls", 0), { text: 0, segment: 0 }, end("sep", 0)];
  const pair = [...single, ...isRoberta ? [end("sep", 0)] : [], { text: 1, segment: second }, end("sep", second)];
  return { single, pair };
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

function makeTemplate(field: Field): Template {
  const special = field.at("special_tokens");
  const single = field.at("single").list().map((piece) => placeOf(piece, ["A"], special));
  const pair = field.at("pair").listIfAny().map((piece) => placeOf(piece, ["A", "B"], special));
  return { single, pair };
}

const kKinds: Kinds<Template | undefined> = {
  BertProcessing: (field) => makeEnds(field, false),
  ByteLevel: () => undefined, // Hugging Face's library trims offsets here, and there are none here
  RobertaProcessing: (field) => makeEnds(field, true),
  TemplateProcessing: makeTemplate,
};

/** Makes the post-processor of tokenizer.json's "post_processor", which may be null. */
export function makePostProcessor(field: Field): PostProcessor {
  const steps = stepsOf(field, "processors").map((step) => make(kKinds, step));
  const templates = steps.filter((step) => step !== undefined);
  return (texts) => {
    checkCounts(templates, texts.map((ids) => ids.length));
    const given = texts.map((ids, text) => ({ ids, segments: ids.map(() => text) }));
    const done = templates.reduce<readonly Tokens[]>(
      (all, template) => [filled(placesFor(template, all.length), all)], given);
    return { ids: done.flatMap(({ ids }) => ids), segments: done.flatMap(({ segments }) => segments) };
  };
}
