// SPDX-License-Identifier: Apache-2.0
/** The features of the JavaScript engine decide which of the wasm builds it can run. */
import { wrong } from "../module/failures.js";
import { HeadlensError } from "../types/errors.js";

export interface Features {
  /** Every browser has 128-bit SIMD since 2023, and Node since 16. */
  readonly simd: boolean;
  /** Relaxed SIMD is wanted for its fused multiply-add. */
  readonly relaxedSimd: boolean;
}

export type Build = "baseline" | "relaxed";

/** Makes a module of one function without parameters that returns a v128. Its body is `code` and an `end`. */
function probe(code: readonly number[]): Uint8Array<ArrayBuffer> {
  const body = [0x00, ...code, 0x0b];
  return Uint8Array.of(
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, // "\0asm", version 1
    0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b, // types: () -> v128
    0x03, 0x02, 0x01, 0x00, // functions: one of type 0
    0x0a, body.length + 2, 0x01, body.length, ...body); // code
}

const kZeros = [0x41, 0x00, 0xfd, 0x0f]; // i32.const 0, i8x16.splat

export function detectFeatures(): Features {
  return {
    simd: WebAssembly.validate(probe(kZeros)),
    relaxedSimd: WebAssembly.validate(probe([...kZeros, ...kZeros, ...kZeros, 0xfd, 0x85, 0x02])), // f32x4.relaxed_madd
  };
}

/** Makes the engine's memory. It grows from 16 MiB up to all that 32-bit addresses reach, as CMakeLists.txt has it. */
export function makeMemory(shared: boolean): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 256, maximum: 65536, shared });
}

/** Returns true when several threads can work on one memory: not in a page without cross-origin isolation, nor where addresses are short. */
export function canShareMemory(): boolean {
  if (globalThis.crossOriginIsolated === false) return false;
  try {
    return makeMemory(true).buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}

/** Returns the build to run. Throws "unsupported" when there is none, or not the one asked for. */
export function chooseBuild(features: Features, wanted: "auto" | Build): Build {
  if (!features.simd) throw new HeadlensError("unsupported", "this engine has no WebAssembly SIMD, which headlens needs");
  if (wanted === "relaxed" && !features.relaxedSimd) {
    throw wrong("unsupported", "simd", '"relaxed"', '"auto" or "baseline", since this engine has no relaxed SIMD');
  }
  return wanted === "auto" ? (features.relaxedSimd ? "relaxed" : "baseline") : wanted;
}
