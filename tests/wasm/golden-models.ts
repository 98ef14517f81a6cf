// SPDX-License-Identifier: Apache-2.0
/** The golden models, with their inputs and PyTorch's results (tests/golden/make_models.py). */
import { File } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import type { AttendOptions, TensorLike } from "headlens";
import { kGolden, readSafetensors, tensorOf, type Safetensors } from "./support.js";

export const kModels = readdirSync(`${kGolden}/models`).sort();
export const folderOf = (name: string): string => `${kGolden}/models/${name}`;
export const expectedOf = (name: string): Safetensors => readSafetensors(`${folderOf(name)}/expected.safetensors`);

/** The files of a folder that belong to the model, as a file input gives them. */
export function filesOf(name: string): File[] {
  const names = readdirSync(folderOf(name)).filter((file) => !/^(expected|explained)\.safetensors$/.test(file));
  return names.map((file) => new File([readFileSync(`${folderOf(name)}/${file}`)], file));
}

/** The golden case's input, as a caller would give it. */
export function inputOf(golden: Safetensors): [ids: number[] | TensorLike, options: AttendOptions] {
  const { tensors } = golden;
  const image = tensors.get("image");
  if (image) return [{ data: Float32Array.from(image.data), shape: image.shape }, {}];
  const segments = tensors.get("segments");
  const padding = tensors.get("padding");
  const options = {
    ...(segments && { segments: [...segments.data] }),
    ...(padding && { paddingMask: [...padding.data].map((value) => value === 1) }),
  };
  return [[...tensorOf(golden, "ids").data], options];
}
