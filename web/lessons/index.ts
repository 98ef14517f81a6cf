// SPDX-License-Identifier: Apache-2.0
/** The tutorials, live: each lesson runs the engine and gives plain data that a page can draw. */
export type { Figure, Lesson, LessonEngine, Matrix, Observation } from "./lesson.js";
export { kCheckpoints, type Checkpoint, type Control, type Experiment } from "./checkpoints/index.js";
export { orderBlindness, type OrderOptions } from "./order-blindness.js";
export { orientation, type OrientationOptions } from "./orientation.js";
export { saturation, type SaturationOptions } from "./saturation.js";
export { countOperations, multiplications, prices, sixSteps, type Counts, type LessonStep, type SixSteps } from "./six-steps.js";
export * as variants from "./variants/index.js";
