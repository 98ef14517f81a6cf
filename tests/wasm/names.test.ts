// SPDX-License-Identifier: Apache-2.0
/** The rule between the API's names and the module's, and what becomes of the module's messages. */
import { expect, test } from "vitest";
import { inApiWords, toCamel, toRequest, toSnake } from "../../wasm/src/arguments/names.js";

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

test("messages speak of options, inputs and stages as the API does, and leave other words alone", () => {
  expect(inApiWords("embed_dim must be a multiple of num_heads, got 10")).toBe(
    "embedDim must be a multiple of numHeads, got 10",
  );
  expect(inApiWords("attn_mask has shape (2,), expected scaled_scores")).toBe(
    "attnMask has shape (2,), expected scaledScores",
  );
  expect(inApiWords('causal_alignment is "left", expected "top_left"')).toBe(
    'causalAlignment is "left", expected "top_left"',
  );
  expect(inApiWords("parameter in_proj_weight of self_attn.in_proj_bias")).toBe(
    "parameter in_proj_weight of self_attn.in_proj_bias",
  );
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
