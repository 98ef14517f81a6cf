// SPDX-License-Identifier: Apache-2.0
/** Parameters by name, from a safetensors file or from elsewhere. */
import type { TensorLike } from "./tensors.js";

/** A tensor of a file, in its own memory. F16 and BF16 are converted to floats, and BOOL is 0 or 1. */
export type SafetensorsTensor =
  | { dtype: "F32" | "F16" | "BF16"; data: Float32Array; shape: number[] }
  | { dtype: "F64"; data: Float64Array; shape: number[] }
  | { dtype: "I8"; data: Int8Array; shape: number[] }
  | { dtype: "I32"; data: Int32Array; shape: number[] }
  | { dtype: "I64"; data: BigInt64Array; shape: number[] }
  | { dtype: "U8" | "BOOL"; data: Uint8Array; shape: number[] };

export interface SafetensorsFile {
  /** The tensors by name, in the order of the file. `loadStateDict` accepts them as they are. */
  tensors: Map<string, SafetensorsTensor>;
  metadata: Record<string, string>;
}

/**
 * Parameters under PyTorch's names (`in_proj_weight`, `q_proj_weight`, `in_proj_bias`, `bias_k`, `bias_v`, `out_proj.weight`, `out_proj.bias`), as an
 * object, a Map, or any other pairs. Parameters are floats: integers of 8 and 64 bits and bytes of a file are refused, with an error that names them.
 */
export type StateDict =
  | Readonly<Record<string, TensorLike>> | Iterable<readonly [name: string, tensor: TensorLike | SafetensorsTensor]>;
