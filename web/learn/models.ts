// SPDX-License-Identifier: Apache-2.0
/** The built-in models, which lessons share: each is loaded once for an engine, and lives as long as it. */
import type { AsyncEngine, AsyncModel, BuiltInModel } from "headlens";
import type { LessonEngine } from "./experiments/numbers.js";

const kLoaded = new WeakMap<LessonEngine, Map<BuiltInModel, Promise<AsyncModel>>>();

export function builtIn(engine: LessonEngine, name: BuiltInModel): Promise<AsyncModel> {
  const models = kLoaded.get(engine) ?? new Map<BuiltInModel, Promise<AsyncModel>>();
  kLoaded.set(engine, models);
  const known = models.get(name);
  if (known) return known;
  // An engine without a worker returns a model whose results can be awaited as well.
  const loading = (engine as AsyncEngine).loadModel(name);
  models.set(name, loading);
  // A model that did not come may come the next time.
  loading.catch(() => models.delete(name));
  return loading;
}
