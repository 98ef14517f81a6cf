// SPDX-License-Identifier: Apache-2.0
/** The words of the book: spelled right, in sentences that a reader of sixteen follows, and short. */
import dictionary from "dictionary-en-gb";
import { marked } from "marked";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import retextEnglish from "retext-english";
import retextReadability from "retext-readability";
import retextSpell from "retext-spell";
import retextStringify from "retext-stringify";
import { unified } from "unified";
import { describe, expect, test } from "vitest";
import { kBook } from "../../../web/learn/book.js";
import { kRoot } from "../../compare.js";

/** Words of the field, and names, that the dictionary does not have. */
const kTerms = [
  "softmax", "Softmax", "sparsemax", "Sparsemax", "entmax", "Entmax", "sigmoid", "tanh", "ReLU", "NaN", "exponentials",
  "embedding", "embeddings", "Embeddings", "logit", "logits", "tokenizer", "encoder", "decoder", "equivariance", "booleans",
  "CLS", "KV", "MiB", "GiB", "T5", "GPT", "Gemma", "8B", "FlashAttention", "tiny-bert",
];

/** Words of the French sentences that a model translates. */
const kFrench = ["le", "roi", "ne", "dort", "jamais", "du"];

/** The age of a reader, in years, for whom most measures of reading call a sentence easy. */
const kAge = 16;
const kMostWords = 260;

const checker = unified().use(retextEnglish).use(retextSpell, { dictionary, ignore: [...kTerms, ...kFrench] })
  .use(retextReadability, { age: kAge, minWords: 8 }).use(retextStringify);

/** Powers, products, transposed matrices and Greek letters, with what belongs to them, are formulas, and so are names in code. */
const kFormula = /\S*[²³⁰¹⁴-⁹₀-₉ᵀ·\p{Script=Greek}]\S*|\bG-th\b|\w+(?:[._]\w+)+/gu;

/** A text without code and formulas, whose letters are not words. */
const plain = (markdown: string): string => marked.parse(markdown, { async: false })
  .replaceAll(/<code>.*?<\/code>/gs, "it").replaceAll(/<(sub|sup)>.*?<\/\1>/gs, "").replaceAll(/<[^>]+>/g, "")
  .replaceAll("&amp;", "&").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "“").replaceAll("&#39;", "’")
  .replaceAll(kFormula, "it");

/** The faults of a text in words, each with the place where it stands. */
async function findings(text: string): Promise<string[]> {
  const lines = text.split("\n");
  return (await checker.process(text)).messages.map((message) => `${String(message)}: ${lines[(message.line ?? 1) - 1] ?? ""}`);
}

const files = readdirSync(join(kRoot, "web/learn/chapters"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md")).sort();

test("a wrong spelling and a sentence that is hard to read are found", async () => {
  expect(await findings("The weigths sum to one.")).toHaveLength(1);
  const hard = "Notwithstanding considerable computational heterogeneity, multidimensional representational transformations "
    + "necessitate comprehensive reinterpretation of intermediate probabilistic characterisations.";
  expect((await findings(hard)).length).toBeGreaterThan(0);
});

test.each(files)("%s", async (file) => {
  const text = plain(readFileSync(join(kRoot, "web/learn/chapters", file), "utf8"));
  expect(await findings(text)).toEqual([]);
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(kMostWords);
});

describe("what figures say", () => {
  const lessons = kBook.flatMap(({ lessons }) => Object.entries(lessons));
  test.each(lessons)("%s", async (_, load) => {
    const { default: { title, claim, question } } = await load();
    const texts = [title, claim, question?.ask, ...question?.answers ?? [], question?.because];
    for (const text of texts.filter((one) => one !== undefined)) expect(await findings(plain(text)), text).toEqual([]);
    expect(question?.answers[question.right]).toBeDefined();
  });
});
