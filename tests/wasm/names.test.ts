// SPDX-License-Identifier: Apache-2.0
/** The rule between the API's names and the module's, and what becomes of the module's messages. */
import { expect, test } from "vitest";
import { apiName, namesIn, optionNames, toCamel, toRequest, toSnake } from "../../wasm/src/arguments/names.js";
import { nearest } from "../../wasm/src/arguments/options.js";
import { unwrap } from "../../wasm/src/module/failures.js";

test.each([
  ["attnMask", "attn_mask"],
  ["averageAttnWeights", "average_attn_weights"],
  ["dropoutP", "dropout_p"],
  ["addBiasKv", "add_bias_kv"],
  ["enableGqa", "enable_gqa"],
  ["srcKeyPaddingMask", "src_key_padding_mask"],
  ["lse", "lse"],
])("%s is %s, and back", (camel, snake) => {
  expect(toSnake(camel)).toBe(snake);
  expect(toCamel(snake)).toBe(camel);
});

test("names of options, inputs and stages are the API's, and those of parameters PyTorch's", () => {
  expect(["embed_dim", "attn_mask", "scaled_scores", "in_proj_weight", "window"].map(apiName))
    .toEqual(["embedDim", "attnMask", "scaledScores", "in_proj_weight", "window"]);
});

test("a call's inputs have the call's own names", () => {
  const spell = namesIn([{ name: "query", label: "q", dtype: "f32", shape: [], data: new Float32Array(1), length: 1 }]);
  expect(["query", "key", "attn_mask"].map(spell)).toEqual(["q", "key", "attnMask"]);
});

test.each([
  ["is_causal", "isCausal"], ["iscausal", "isCausal"], ["causal", "isCausal"], ["windowleft", "windowLeft"], ["attnMsk", "attnMask"],
  ["positions", undefined], ["x", undefined], ["", undefined], ["a".repeat(100_000), undefined],
])("nearest to %s is %s", (name, near) => {
  expect(nearest(name, optionNames("scaledDotProductAttention"))).toBe(near);
});

test("names in a failure are spelled as the surface has them, and all other words stay", () => {
  const mark = "\u001f";
  const error = {
    code: "shape", message: `${mark}attn_mask${mark} has shape (2, 3), expected attn_mask`, argument: `${mark}attn_mask${mark}`,
    got: "(2, 3)", expected: "attn_mask",
  };
  expect(() => unwrap({ error }, apiName)).toThrow(expect.objectContaining({
    code: "shape", message: "attnMask has shape (2, 3), expected attn_mask", argument: "attnMask", got: "(2, 3)", expected: "attn_mask",
  }) as Error);
});

test("options travel as JSON, tensors beside them", () => {
  const mask = { data: [true, false], shape: [1, 2] };
  const { json, inputs } = toRequest("scaledDotProductAttention", {
    isCausal: true,
    stages: ["scaledScores"],
    scale: 0.5,
    attnMask: mask,
  });
  expect(JSON.parse(json)).toEqual({ is_causal: true, stages: ["scaled_scores"], scale: 0.5 });
  expect(inputs).toEqual([
    { name: "attn_mask", label: "attnMask", dtype: "u8", shape: [1, 2], data: Uint8Array.of(1, 0), length: 2 },
  ]);
});
