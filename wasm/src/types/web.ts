// SPDX-License-Identifier: Apache-2.0
/**
 * Classes of the web that the package's types name. Where a library declares them (the DOM's or Node's), they are those; elsewhere they have only the
 * members that a program without such a library can use.
 */

/** The address of something. */
export type URL = typeof globalThis extends { URL: { prototype: infer T } } ? T : { readonly href: string };

/** A file's bytes, and its name. */
export type File = typeof globalThis extends { File: { prototype: infer T } } ? T
  : { readonly name: string; readonly size: number };

/** Bytes that are read when they are needed. */
export type Blob = typeof globalThis extends { Blob: { prototype: infer T } } ? T : {
  readonly size: number;
  slice(begin: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
};

/** A signal that ends a call that takes long. */
export type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T
  : { readonly aborted: boolean };
