// SPDX-License-Identifier: Apache-2.0
/** What this browser's WebAssembly can do at most: multiply-adds in registers alone, with nothing to load or store. */

/** Chains that do not wait for each other, so that every unit of the processor has work. */
const kChains = 12;
const kLanes = 4;
const kCount = 1 << 21;
const kTurns = 16;

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

const section = (id: number, content: readonly number[]): number[] => [id, ...unsigned(content.length), ...content];

/** A module with one function, (count: i32): in a loop, each of 12 vectors becomes itself times a plus b, fused where relaxed SIMD is. */
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
    ...chains.flatMap((local, i) => [0x20, local, ...(i > 0 ? [0xfd, 0xe4, 0x01] : [])]), // the sum: none is left out
    0xfd, 0x1f, 0, 0x0b, // its first lane
  ];
  const body = [1, ...unsigned(kChains + 2), 0x7b, ...code];
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7d]), ...section(3, [1, 0]), ...section(7, [1, 1, 0x66, 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

/** GFLOP/s; the best of some turns, since a limit is what nothing gets in the way of. */
export async function measureLimit(isRelaxed: boolean): Promise<number> {
  const { instance } = await WebAssembly.instantiate(moduleOf(isRelaxed));
  const run = instance.exports.f as (count: number) => number;
  let best = 0;
  for (let turn = 0; turn < kTurns; turn++) {
    const start = performance.now();
    run(kCount);
    const seconds = (performance.now() - start) / 1000;
    best = Math.max(best, (2 * kLanes * kChains * kCount) / seconds / 1e9);
    await new Promise((later) => setTimeout(later)); // the optimising compiler's code takes over between two turns
  }
  return best;
}
