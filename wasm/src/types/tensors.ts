// SPDX-License-Identifier: Apache-2.0
/** Types of tensors that are given and returned, and of options that may be left out. */

/** A result: dense and row-major, in an array that belongs to the caller. */
export interface Tensor {
  data: Float32Array;
  shape: number[];
}

/**
 * An option that may be absent. In every call `undefined` and `null`, which settings from JSON may contain, mean the same as leaving the option out.
 */
export type Maybe<T> = T | null | undefined;

/** A tensor of this package, or any object with `dims`, such as the tensors of other runtimes. */
type Shaped<Data> =
  | { readonly data: Data; readonly shape: readonly number[] }
  | { readonly data: Data; readonly dims: readonly number[] };

/**
 * An input: dense and row-major, with `shape`, or with `dims` as the tensors of other runtimes. It is copied, never kept or changed. Numbers become
 * 32-bit floats; those beyond their range (±3.4e38) become ±Infinity, which is not an error everywhere.
 */
export type TensorLike = Shaped<Float32Array | Float64Array | Int32Array | readonly number[]>;

/** A boolean mask, whose data are booleans or a Uint8Array. */
export type BooleanMask = Shaped<Uint8Array | readonly boolean[]>;

/** A mask of either kind, depending on its data: booleans or bytes select cells, and floats are added to the scores. */
export type AttentionMask = Shaped<Float32Array | Float64Array | Uint8Array | readonly number[] | readonly boolean[]>;

/** A tensor of 32-bit whole numbers, such as ids and lengths. Arrays of floats are refused, even when all their numbers are whole. */
export type IntegerTensor = Shaped<Int32Array | readonly number[]>;
