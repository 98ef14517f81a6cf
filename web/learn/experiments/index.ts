// SPDX-License-Identifier: Apache-2.0
/** Experiments that lessons show, and that are tested without a page. Each runs the engine and returns plain data. */
export type { Figure, Findings, LessonEngine, Matrix, Observation } from "./numbers.js";
export { orderBlindness, type OrderOptions } from "./order-blindness.js";
export { orientation, type OrientationOptions } from "./orientation.js";
export { saturation, type SaturationOptions } from "./saturation.js";
export { countOperations, multiplications, prices, sixSteps, type Counts, type LessonStep, type SixSteps } from "./six-steps.js";
export * as variants from "./variants/index.js";
