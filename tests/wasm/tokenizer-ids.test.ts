// SPDX-License-Identifier: Apache-2.0
/** The package's own reading of tokenizer.json gives the ids that Hugging Face's library, in Rust, gives to lines of many scripts. */
import { describe, expect, test } from "vitest";
import { makeTokenizer } from "../../wasm/src/tokenizer/kinds.js";
import { differences, idsOfPairs, kGoldenLines, kPublishedTokenizers, kSingleSteps, type TokenizerGolden } from "../tokenizer_goldens.js";

function idsOf({ json }: TokenizerGolden): number[][] {
  const tokenizer = makeTokenizer(json);
  return kGoldenLines.lines.map((line) => tokenizer.encode(line).ids);
}

describe("published tokenizers", () => {
  test("there are many, and thousands of lines", () => {
    expect(kPublishedTokenizers.length).toBeGreaterThan(20);
    expect(kGoldenLines.lines.length).toBeGreaterThan(2500);
  });
  test.each(kPublishedTokenizers)("$name", (golden) => { expect(differences(golden.name, idsOf(golden))).toBe(""); });
  test.each(kPublishedTokenizers)("pairs of texts: $name", ({ name, json }) => {
    const tokenizer = makeTokenizer(json);
    const { lines, pairs } = kGoldenLines;
    const ids = pairs.map(([a, b]) => tokenizer.encodePair(lines[a] ?? "", lines[b] ?? "").ids);
    expect(ids).toEqual(idsOfPairs(name));
  });
});

describe("single steps", () => {
  test.each(kSingleSteps)("$name", (golden) => { expect(differences(golden.name, idsOf(golden))).toBe(""); });
});
