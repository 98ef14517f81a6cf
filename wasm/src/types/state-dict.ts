// SPDX-License-Identifier: Apache-2.0
/** Parameters go by their names, whether they come from a safetensors file or from anywhere else. */
import type { TensorLike } from "./tensors.js";

/** A tensor of a file is in memory of the caller's own. F16 and BF16 have become floats, and BOOL is 0 or 1. */
export type SafetensorsTensor =
  | { dtype: "F32" | "F16" | "BF16"; data: Float32Array; shape: number[] }
  | { dtype: "F64"; data: Float64Array; shape: number[] }
  | { dtype: "I32"; data: Int32Array; shape: number[] }
  | { dtype: "I64"; data: BigInt64Array; shape: number[] }
  | { dtype: "U8" | "BOOL"; data: Uint8Array; shape: number[] };

export interface SafetensorsFile {
  /** Tensors go by their names, in the order of the file. `loadStateDict` takes them as they are. */
  tensors: Map<string, SafetensorsTensor>;
  metadata: Record<string, string>;
}

/**
 * This is an object, or a Map or other pairs, of parameters under PyTorch's names (`in_proj_weight`, `q_proj_weight`, `in_proj_bias`, `bias_k`,
 * `bias_v`, `out_proj.weight`, `out_proj.bias`). Parameters are floats: integers of 64 bits and bytes of a file are refused by their names.
 */
export type StateDict =
  | Readonly<Record<string, TensorLike>> | Iterable<readonly [name: string, tensor: TensorLike | SafetensorsTensor]>;
