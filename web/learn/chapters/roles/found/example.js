// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const weights = { data: [1, 0, 0, 0, 0.9, 0.1, 0, 0, 0.2, 0.7, 0.1, 0, 0.1, 0.1, 0.6, 0.2], shape: [4, 4] };
const tokens = [7, 8, 7, 8]; // a sequence of two, read twice
const metrics = ["previous", "duplicate", "induction", "entropyNormalized"];
const [head] = engine.headMetrics(weights, { isCausal: true, tokens, metrics });
console.log(...metrics.map((metric) => head[metric]));
