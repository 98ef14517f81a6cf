// SPDX-License-Identifier: Apache-2.0
/** The highest speed of this browser's WebAssembly: multiply-adds in registers, without loads or stores. */

/** The number of independent chains, enough to keep every unit of the processor busy. */
const kChains = 12;
const kLanes = 4;
const kCount = 1 << 21;
const kTurns = 16;

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

const section = (id: number, content: readonly number[]): number[] => [id, ...unsigned(content.length), ...content];

/**
 * A module with one function, (count: i32). Its loop multiplies each of 12 vectors by a and adds b, fused with relaxed
 * SIMD.
 */
function moduleOf(isRelaxed: boolean): Uint8Array<ArrayBuffer> {
  const [a, b] = [1 + kChains, 2 + kChains];
  const splat = (value: number, local: number): number[] =>
    [0x43, ...new Uint8Array(Float32Array.of(value).buffer), 0xfd, 0x13, 0x21, local];
  const step = (local: number): number[] => isRelaxed
    ? [0x20, local, 0x20, a, 0x20, b, 0xfd, 0x85, 0x02, 0x21, local] // f32x4.relaxed_madd
    : [0x20, local, 0x20, a, 0xfd, 0xe6, 0x01, 0x20, b, 0xfd, 0xe4, 0x01, 0x21, local]; // f32x4.mul, f32x4.add
  const chains = Array.from({ length: kChains }, (_, i) => i + 1);
  const code = [
    ...chains.flatMap((local) => splat(local, local)), ...splat(0.999, a), ...splat(0.001, b),
    0x03, 0x40, ...chains.flatMap(step), // loop
    0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, // count -= 1, again unless it is 0
    ...chains.flatMap((local, i) => [0x20, local, ...(i > 0 ? [0xfd, 0xe4, 0x01] : [])]), // their sum: none is left out
    0xfd, 0x1f, 0, 0x0b, // its first lane
  ];
  const body = [1, ...unsigned(kChains + 2), 0x7b, ...code];
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7d]), ...section(3, [1, 0]), ...section(7, [1, 1, 0x66, 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

/** Measures GFLOP/s. It is the best of several turns, in which the least came in between. */
export async function measureLimit(isRelaxed: boolean): Promise<number> {
  const { instance } = await WebAssembly.instantiate(moduleOf(isRelaxed));
  const run = instance.exports.f as (count: number) => number;
  let best = 0;
  for (let turn = 0; turn < kTurns; turn++) {
    const start = performance.now();
    run(kCount);
    const seconds = (performance.now() - start) / 1000;
    best = Math.max(best, (2 * kLanes * kChains * kCount) / seconds / 1e9);
    await new Promise((later) => setTimeout(later)); // lets the optimising compiler's code take over between two turns
  }
  return best;
}
