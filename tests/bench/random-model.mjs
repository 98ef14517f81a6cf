// SPDX-License-Identifier: Apache-2.0
/** Folders of models of a given shape with random weights, which are the same in every run. */
import { Buffer } from "node:buffer";
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Names and shapes of a GPT-2's parameters. */
export function gpt2Parameters({ n_embd: width, n_layer: layers, n_positions: positions, vocab_size: vocabulary }) {
  const norm = (name) => [[`${name}.weight`, [width]], [`${name}.bias`, [width]]];
  const linear = (name, from, to) => [[`${name}.weight`, [from, to]], [`${name}.bias`, [to]]];
  const block = (prefix) => [
    ...norm(`${prefix}.ln_1`), ...linear(`${prefix}.attn.c_attn`, width, 3 * width), ...linear(`${prefix}.attn.c_proj`, width, width),
    ...norm(`${prefix}.ln_2`), ...linear(`${prefix}.mlp.c_fc`, width, 4 * width), ...linear(`${prefix}.mlp.c_proj`, 4 * width, width),
  ];
  const blocks = Array.from({ length: layers }, (_, i) => block(`h.${i}`)).flat();
  return [["wte.weight", [vocabulary, width]], ["wpe.weight", [positions, width]], ...blocks, ...norm("ln_f")];
}

/** The shape of the smallest GPT-2, which has 124 million parameters. */
export const kGpt2 = {
  model_type: "gpt2", n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024, vocab_size: 50257,
  activation_function: "gelu_new", layer_norm_epsilon: 1e-5,
};

const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);

/** Of each type an array of ones, and one of small numbers that are made of 32 random bits each. */
const kTypes = {
  F32: {
    ones: (length) => new Float32Array(length).fill(1),
    small: (length, bits) => Float32Array.from({ length }, () => (bits() / 2 ** 32 - 0.5) * 0.07),
  },
  /** The small ones are of either sign and from 1/32 to 1/16. */
  F16: {
    ones: (length) => new Uint16Array(length).fill(0x3c00),
    small: (length, bits) => Uint16Array.from({ length }, () => 0x2800 | (bits() >>> 16 & 0x83ff)),
  },
};
const kBytes = { F32: 4, F16: 2 };

function randomBits() {
  let state = 1;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
}

/**
 * Writes config.json, tokenizer.json and model.safetensors with the parameters `named` of type F32 or F16. The scales of
 * norms are 1.
 */
export function writeModel(folder, { config, tokenizer, named, dtype }) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "tokenizer.json"), tokenizer);
  let end = 0;
  const header = JSON.stringify(Object.fromEntries(named.map(([name, shape]) =>
    [name, { dtype, shape, data_offsets: [end, end += kBytes[dtype] * sizeOf(shape)] }])));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
  const file = openSync(join(folder, "model.safetensors"), "w");
  for (const part of [length, Buffer.from(header)]) writeSync(file, part);
  const { ones, small } = kTypes[dtype];
  const bits = randomBits();
  for (const [name, shape] of named) {
    const isScale = /(ln_.*|norm)\.weight$/.test(name);
    writeSync(file, new Uint8Array((isScale ? ones(sizeOf(shape)) : small(sizeOf(shape), bits)).buffer));
  }
  closeSync(file);
}
