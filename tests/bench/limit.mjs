// SPDX-License-Identifier: Apache-2.0
/**
 * The highest speed of one thread of WebAssembly at this moment: multiply-adds on registers alone, with twelve
 * independent sums of four floats. "baseline" multiplies and then adds, since the simd128 instructions have nothing
 * else; "relaxed" fuses both.
 */
const kSums = 12;
const kOperations = 2 * 4 * kSums;  // in each step

const unsigned = (value) => {
  const out = [];
  for (; value > 127; value >>>= 7) out.push((value & 127) | 128);
  return [...out, value];
};
const vector = (...items) => [...unsigned(items.length), ...items.flat()];
const section = (id, ...content) => [id, ...unsigned(content.flat().length), ...content.flat()];
const float = (value) => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)];

const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const simd = (opcode, ...rest) => [0xfd, ...unsigned(opcode), ...rest];
const kSplat = simd(0x13), kAdd = simd(0xe4), kMultiply = simd(0xe6), kMultiplyAdd = simd(0x105);
const kLane0 = simd(0x1f, 0);

/** (steps: i32) → f32: a number that depends on all sums, so that none can be left out. */
function moduleOf(isFused) {
  const [factor, term] = [kSums + 1, kSums + 2];
  const sums = Array.from({ length: kSums }, (_, i) => i + 1);
  const start = [...sums.flatMap((sum) => [...float(sum), ...kSplat, ...set(sum)]),
    ...float(0.5), ...kSplat, ...set(factor), ...float(0.25), ...kSplat, ...set(term)];
  const step = sums.flatMap((sum) => isFused
    ? [...get(sum), ...get(factor), ...get(term), ...kMultiplyAdd, ...set(sum)]
    : [...get(sum), ...get(factor), ...kMultiply, ...get(term), ...kAdd, ...set(sum)]);
  const again = [...get(0), 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0];  // --steps, and back to the loop unless 0
  const loop = [0x03, 0x40, ...step, ...again, 0x0b];
  const result = [...get(1), ...sums.slice(1).flatMap((sum) => [...get(sum), ...kAdd]), ...kLane0];
  const code = [...vector([...unsigned(kSums + 2), 0x7b]), ...start, ...loop, ...result, 0x0b];
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vector([0x60, ...vector([0x7f]), ...vector([0x7d])])),
    ...section(3, vector([0])),
    ...section(7, vector([...vector([0x72]), 0, 0])),  // "r", function 0
    ...section(10, vector([...unsigned(code.length), ...code])),
  ]);
}

/** Returns a function that measures GFLOP/s in about 2 ms. The optimised code is ready before it returns. */
export async function wasmLimit(simdKind) {
  const { instance } = await WebAssembly.instantiate(moduleOf(simdKind === "relaxed"));
  const kSteps = 1_000_000;
  const measure = (steps) => {
    const start = performance.now();
    instance.exports.r(steps);
    return (steps * kOperations) / (performance.now() - start) / 1e6;
  };
  for (let run = 0; run < 20; ++run) {
    measure(kSteps);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return () => measure(kSteps);
}
