// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const distances = [0, 1, 7, 8, 15, 16, 90, 91, 128, 500];
console.log(...engine.alibiSlopes(8).data); // one for each head
console.log(...distances.map((distance) => engine.t5Bucket(-distance))); // of earlier tokens
