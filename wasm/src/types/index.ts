// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/** The public vocabulary: PyTorch's words in camelCase. B batch, H heads, G key/value heads, T queries, S keys, d head width, D model width. */
export type * from "./options/analyses.js";
export type * from "./options/attention.js";
export type * from "./options/caches.js";
export type * from "./options/colors.js";
export type * from "./options/layers.js";
export type * from "./options/load.js";
export type * from "./options/models.js";
export type * from "./analyses.js";
export type * from "./async.js";
export type * from "./caches.js";
export type * from "./conventions.js";
export type * from "./engine.js";
export type * from "./layers.js";
export type * from "./load.js";
export type * from "./models.js";
export type * from "./pictures.js";
export type * from "./results.js";
export type * from "./state-dict.js";
export type * from "./tensors.js";
export type { MemoryStage, MetricName, ModelMetricName, Stage } from "./vocabulary.js";
