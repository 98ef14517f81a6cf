// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const q = { data: Float32Array.from({ length: 2000 * 2 }, (_, i) => Math.sin(i)), shape: [2000, 2] };
const k = { data: Float32Array.from({ length: 2000 * 2 }, (_, i) => Math.cos(i)), shape: [2000, 2] };
const { lse } = engine.scaledDotProductAttention(q, k, k, { scale: 1, stages: ["lse"] }); // a number for each row
const score = q.data[2 * 1999] * k.data[2 * 1500] + q.data[2 * 1999 + 1] * k.data[2 * 1500 + 1];
const maps = engine.attentionMaps(q, k, { scale: 1 }); // stores no map, either
const weight = maps.map(0, 0, { rows: [1999, 2000], cols: [1500, 1501] }).data[0];
console.log(lse.data[1999], 1000 * Math.exp(score - lse.data[1999]), 1000 * weight);
maps.dispose();
