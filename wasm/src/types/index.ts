// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public types. Names are PyTorch's in camelCase. In shapes, B stands for the batch, H for heads, G for key/value heads, T for queries, S for
 * keys, d for the width of a head, dv for that of a value, and D for the width of the model.
 */
export type * from "./options/analyses.js";
export type * from "./options/attention.js";
export type * from "./options/caches.js";
export type * from "./options/colors.js";
export type * from "./options/explanations.js";
export type * from "./options/layers.js";
export type * from "./options/load.js";
export type * from "./options/models.js";
export type * from "./analyses.js";
export type * from "./async.js";
export type * from "./caches.js";
export type * from "./conventions.js";
export type * from "./difference.js";
export type * from "./engine.js";
export type * from "./explanations.js";
export type * from "./layers.js";
export type * from "./load.js";
export type * from "./maps.js";
export type * from "./models.js";
export type * from "./pictures.js";
export type * from "./results.js";
export type * from "./state-dict.js";
export type * from "./tensors.js";
export type { MemoryStage, MetricName, ModelFamily, ModelMetricName, Stage } from "./vocabulary.js";
