// SPDX-License-Identifier: Apache-2.0
/** These types describe tensors as they come in and go out, and options that may be left out. */

/** A result is dense and row-major, and its array is the caller's own. */
export interface Tensor {
  data: Float32Array;
  shape: number[];
}

/** This is an option, or nothing: in every call `undefined` and `null`, as settings read from JSON have it, are as good as an option not named. */
export type Maybe<T> = T | null | undefined;

/** This is a tensor of ours, or any object with `dims` such as the tensors of other runtimes. */
type Shaped<Data> =
  | { readonly data: Data; readonly shape: readonly number[] }
  | { readonly data: Data; readonly dims: readonly number[] };

/**
 * An input is dense and row-major, or any object with `dims` such as the tensors of other runtimes. It is copied, never kept or changed.
 * Numbers become 32-bit floats: what is beyond their range (±3.4e38) becomes ±Infinity, which is not refused everywhere.
 */
export type TensorLike = Shaped<Float32Array | Float64Array | Int32Array | readonly number[]>;

/** A boolean mask has data of booleans, or a Uint8Array. */
export type BooleanMask = Shaped<Uint8Array | readonly boolean[]>;

/** The data of a mask decide what it does: booleans or bytes select cells, floats are added to the scores. */
export type AttentionMask = Shaped<Float32Array | Float64Array | Uint8Array | readonly number[] | readonly boolean[]>;

/** Ids, lengths and the like are whole numbers of 32 bits. Arrays of floats are refused, whatever they hold. */
export type IntegerTensor = Shaped<Int32Array | readonly number[]>;
