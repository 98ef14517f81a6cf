// SPDX-License-Identifier: Apache-2.0
/** Changes of a run by options, as `headlens map`, `explain`, `predict`, `compare` and `paths` take them: PyTorch's numbers, and refusals. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { type Safetensors, readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kText = "The cat sat on the";

/** The maps and streams of a changed run. */
function changed(model: string, input: readonly string[], ...changes: string[]): Safetensors {
  const out = inFolder("changed.safetensors");
  succeeds(["map", "--model", model, ...input, "--what", "maps,stream", "--out", out, ...changes]);
  return readSafetensors(out);
}

describe.each(["gpt2", "llama"])("the golden model %s", (name) => {
  const folder = `${kGolden}/models/${name}`;
  const golden = readSafetensors(`${folder}/explained.safetensors`);
  const ids = tensorOf(readSafetensors(`${folder}/expected.safetensors`), "ids").data.join(",");
  const [layer = 0, head = 0] = tensorOf(golden, "score.at").data;
  const diagonals = [...tensorOf(golden, "changed.diagonals.offsets").data];
  const tokens = tensorOf(golden, "changed.tokens").data.join(",");

  test.each([
    ["temperature", ["--temperature", "0.7"]],
    ["sparsemax", ["--normalizer", "sparsemax"]],
    ["diagonals", diagonals.flatMap((diagonal) => ["--forbid-diagonal", String(diagonal)])],
    ["zero", ["--replace-token", tokens]],
    ["mean", ["--replace-token", tokens, "--replacement", "mean", "--replace-layer", "0"]],
  ])("%s: the stream and a map are PyTorch's", (kind, options) => {
    const { tensors } = changed(folder, ["--tokens", ids], ...options);
    const expected = tensorOf(golden, `changed.${kind}`);
    const tolerance = 64 * kEpsilon * maxNorm(expected.data);
    expectClose(kind, tensors.get(`stream.${layer + 1}`), expected, tolerance);
    const map = tensorOf(golden, `changed.${kind}.map`);
    const length = map.shape[0] ?? 0;
    const maps = tensors.get(`attentions.${layer}`)?.data ?? [];
    const got = { data: maps.slice(head * length ** 2, (head + 1) * length ** 2), shape: map.shape };
    expectClose(`${kind}, the map`, got, map, tolerance);
  });
});

describe("patches", () => {
  interface Predictions {
    predictions: { token: number; logit: number }[];
  }
  const predict = (text: string, ...more: string[]): Predictions["predictions"] =>
    (JSON.parse(succeeds(["predict", "--model", kTiny, "--text", text, "--json", ...more])) as Predictions).predictions;
  const kHeads = [...Array(32).keys()].map((n) => `${n >> 3}.${n & 7}`);

  test("from the same text change nothing", () => {
    const patches = kHeads.flatMap((head) => ["--patch", `${head}@1,5`]);
    expect(predict(kText, ...patches, "--from-text", kText)).toEqual(predict(kText));
  });

  test("of all heads at a token that both texts have make its predictions those of the other text", () => {
    const other = "The old dog and the";
    const patches = kHeads.flatMap((head) => ["--patch", `${head}@5`]);
    const expected = predict(other);
    expect(predict(kText)[0]?.token).not.toBe(expected[0]?.token);
    const got = predict(kText, ...patches, "--from-text", other);
    for (const [i, { token, logit }] of expected.entries()) {
      expect(got[i]?.token).toBe(token);
      expect(got[i]?.logit).toBeCloseTo(logit, 4);
    }
  });
});

test("a head that is ablated writes nothing, and other changes of its layer do not matter", () => {
  const kHeads = [...Array(8).keys()].flatMap((head) => ["--ablate", `0.${head}`]);
  const bare = changed(kTiny, ["--text", kText], ...kHeads);
  expect(bare.tensors.get("stream.1")).toEqual(changed(kTiny, ["--text", kText], ...kHeads, "--replace-token", "2",
    "--replace-layer", "0").tensors.get("stream.1"));
  expect(bare.tensors.get("stream.1")).not.toEqual(changed(kTiny, ["--text", kText]).tensors.get("stream.1"));
});

test("explain shows the run as changed", () => {
  const score = (...changes: string[]): number[] => {
    const place = ["--layer", "1", "--head", "4", "--query", "5", "--key", "1"];
    const found = JSON.parse(succeeds(["explain", "--model", kTiny, "--text", kText, ...place, "--json", ...changes])) as {
      score: number; weights: number; masked_scores: number | null;
    };
    return [found.score, found.weights, found.masked_scores ?? -Infinity];
  };
  expect(score("--ablate", "0.2")).not.toEqual(score());
  expect(score("--forbid-diagonal", "4").slice(1)).toEqual([0, -Infinity]);
});

describe.each(["map", "explain", "predict", "compare", "paths"])("%s refuses", (command) => {
  const rest = {
    map: ["--out", "/dev/null/maps.json"], explain: ["--layer", "0", "--head", "0", "--query", "0"], predict: [],
    compare: ["--with-text", kText], paths: [],
  }[command] ?? [];

  test.each([
    [["--ablate", "4.0"], /--ablate is "4\.0", expected a layer from 0 to 3 and a head from 0 to 7, as 0\.1/],
    [["--ablate", "0.8"], /--ablate is "0\.8", expected a layer/],
    [["--ablate", "1"], /--ablate is "1", expected a layer/],
    [["--ablate", "1.2.3"], /--ablate is "1\.2\.3", expected a layer/],
    [["--ablate", "1.99999999999999999999"], /--ablate is "1\.9+", expected a layer/],
    [["--ablate=-1.0"], /--ablate is "-1\.0", expected a layer/],
    [["--ablate", "\u001b[31m0.1"], /--ablate is "\?\[31m0\.1", expected a layer/],
    [["--temperature", "0"], /--temperature is 0, expected a positive number/],
    [["--temperature", "nan"], /--temperature is NaN, expected a positive number/],
    [["--temperature", "1e-60"], /--temperature/],
    [["--normalizer", "hardmax"], /--normalizer: hardmax not in \{softmax,/],
    [["--normalizer", "top_k"], /--normalizer top_k needs --top-k/],
    [["--normalizer", "top_k", "--top-k", "0"], /--top-k is 0, expected at least 1/],
    [["--top-k", "2"], /--top-k needs --normalizer top_k/],
    [["--normalizer", "relu", "--sigmoid-bias", "1"], /--sigmoid-bias needs --normalizer sigmoid/],
    [["--forbid-diagonal", "x"], /--forbid-diagonal/],
    [["--forbid-diagonal", "99999999999"], /--forbid-diagonal/],
    [["--replace-token", "6"], /--replace-token is 6, expected 0 to 5/],
    [["--replace-token=-1"], /--replace-token is -1, expected 0 to 5/],
    [["--replace-token", "1,x"], /--replace-token has "x", expected positions of tokens, as 1,2,3/],
    [["--replace-token", "1", "--replace-layer", "4"], /--replace-layer is 4, expected 0 to 3/],
    [["--replace-token", "1", "--replacement", "one"], /--replacement: one not in/],
    [["--replacement", "mean"], /--replacement requires --replace-token/],
    [["--patch", "0.1@1"], /--patch requires --from-text/],
    [["--from-text", "a"], /--from-text requires --patch/],
    [["--patch", "0.1", "--from-text", "a"], /--patch is "0\.1", expected a layer .* with positions, as 0\.1@4,5/],
    [["--patch", "0.9@1", "--from-text", "a"], /--patch is "0\.9@1", expected a layer/],
    [["--patch", "0.1@", "--from-text", "a"], /--patch has "", expected positions of tokens/],
    [["--patch", "0.1@6", "--from-text", "a"], /--patch is 6, expected 0 to 5/],
    [["--patch", "0.1@5", "--from-text", "a"], /--from-text has \d tokens, expected at least 6, as --patch needs/],
    [["--patch", "0.1@1", "--from-text", "cat ".repeat(300)], /--from-text: value error: the input has 303 tokens/],
  ])("%j", (changes, message) => {
    fails([command, "--model", kTiny, "--text", kText, ...rest, ...changes], 2, message);
  });
});

test("pictures take no outputs from texts, and maps that were computed elsewhere no changes", () => {
  const model = `${kGolden}/models/vit`;
  fails(["map", "--model", model, "--image", `${kRoot}web/playground/screenshot.png`, "--out", inFolder("x.json"),
    "--patch", "0.1@1", "--from-text", "a"], 2, /--from-text is "a", expected none: the model reads pictures/);
  fails(["map", "--weights", "a.npy", "--ablate", "0.1", "--out", inFolder("x.json")], 2, /--ablate|--weights/);
  expect(() => readFileSync(inFolder("x.json"))).toThrow();
});
