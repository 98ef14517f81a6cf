// SPDX-License-Identifier: Apache-2.0
/** Runnable versions of the tutorials. Each lesson runs the engine and returns plain data that a page can draw. */
export type { Figure, Findings, LessonEngine, Matrix, Observation } from "./numbers.js";
export { orderBlindness, type OrderOptions } from "./order-blindness.js";
export { orientation, type OrientationOptions } from "./orientation.js";
export { saturation, type SaturationOptions } from "./saturation.js";
export { countOperations, multiplications, prices, sixSteps, type Counts, type LessonStep, type SixSteps } from "./six-steps.js";
export * as variants from "./variants/index.js";
