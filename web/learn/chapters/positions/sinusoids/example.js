// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const dot = ({ data }) => data.slice(0, 6).reduce((sum, value, i) => sum + value * data[3 * 6 + i], 0);
const start = engine.sinusoidalPositions(4, 6); // positions 0 to 3, six numbers each
const later = engine.sinusoidalPositions(4, 6, 50); // positions 50 to 53
console.log(...start.data);
console.log(...later.data);
console.log(dot(start), dot(later)); // positions 3 apart: the same number
