// SPDX-License-Identifier: Apache-2.0
/**
 * Random numbers that are the same in every program, because each depends only on a seed and its index. They are those
 * of native/bench/numbers.cc.
 */

/** A whole number from 0 to 2³² - 1. */
function mix(seed, i) {
  const a = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), 1 | a);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}

/** Numbers from a normal distribution around 0 (Box & Muller 1958). */
export function normal(count, seed, deviation = 1) {
  const values = new Float32Array(count);
  for (let i = 0; i < count; ++i) {
    const u = (mix(seed, 2 * i) + 1) / 2 ** 32;
    const v = mix(seed, 2 * i + 1) / 2 ** 32;
    values[i] = deviation * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  }
  return values;
}

/** Numbers from a uniform distribution over [-bound, bound). */
export function uniform(count, seed, bound) {
  const values = new Float32Array(count);
  const single = Math.fround(bound);
  for (let i = 0; i < count; ++i) values[i] = ((mix(seed, i) >>> 8) * 2 ** -23 - 1) * single;
  return values;
}

/** Makes a seed from a name (FNV-1a). */
export function seedOf(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return hash >>> 0;
}
