// SPDX-License-Identifier: Apache-2.0
/** Golden models with 8-bit integers for matrices, as compressed-tensors writes them, and with the floats that these stand for. */
import { readFileSync } from "node:fs";
import { readSafetensors, writeSafetensors, type GivenTensor } from "./safetensors.js";

const kSetting = {
  quant_method: "compressed-tensors", format: "int-quantized", quantization_status: "compressed", ignore: [],
  config_groups: {
    group_0: { targets: ["Linear", "Embedding"], weights: { num_bits: 8, type: "int", symmetric: true, strategy: "channel" } },
  },
};

export interface ModelFiles {
  readonly config: string;
  readonly tensors: Readonly<Record<string, GivenTensor>>;
  readonly weights: Uint8Array;
}

/** Returns the rows of a matrix as integers, the scale of each, and the products of both. */
function quantize(data: Float32Array, rows: number): [integers: Int8Array, scales: Float32Array, floats: Float32Array] {
  const columns = data.length / rows, scales = new Float32Array(rows), integers = new Int8Array(data.length);
  for (let row = 0; row < rows; row++) {
    const values = data.subarray(row * columns, (row + 1) * columns);
    scales[row] = values.reduce((largest, x) => Math.max(largest, Math.abs(x)), 1e-3) / 127;
    const scale = scales[row] as number;
    integers.set(values.map((x) => Math.max(-128, Math.min(127, Math.round(x / scale)))), row * columns);
  }
  return [integers, scales, Float32Array.from(integers, (x, i) => x * (scales[Math.floor(i / columns)] as number))];
}

/** Makes both of a folder whose floats are all of one file. */
export function quantizedOf(folder: string): { readonly integers: ModelFiles; readonly floats: ModelFiles } {
  const config = readFileSync(`${folder}/config.json`, "utf8");
  const integers: Record<string, GivenTensor> = {}, floats: Record<string, GivenTensor> = {};
  for (const [name, { data: values, shape }] of readSafetensors(`${folder}/model.safetensors`).tensors) {
    const data = Float32Array.from(values), [rows = 0] = shape;
    integers[name] = floats[name] = { data, shape };
    if (shape.length !== 2 || !name.endsWith(".weight")) continue;
    const [whole, scales, exact] = quantize(data, rows);
    integers[name] = { data: whole, shape };
    integers[`${name}_scale`] = { data: scales, shape: [rows, 1] };
    floats[name] = { data: exact, shape };
  }
  const changed = JSON.stringify({ ...(JSON.parse(config) as object), quantization_config: kSetting });
  return {
    integers: { config: changed, tensors: integers, weights: writeSafetensors(integers, { format: "pt" }) },
    floats: { config, tensors: floats, weights: writeSafetensors(floats, { format: "pt" }) },
  };
}
