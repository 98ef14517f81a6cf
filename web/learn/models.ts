// SPDX-License-Identifier: Apache-2.0
/** The built-in models, which lessons share: each is loaded once for an engine, and lives as long as it. */
import type { AsyncEngine, AsyncModel, BuiltInModel } from "headlens";
import type { LessonEngine } from "./experiments/numbers.js";

type Loader = (name: BuiltInModel) => Promise<AsyncModel>;

const kLoaders = new WeakMap<LessonEngine, Loader>();
const kLoaded = new WeakMap<LessonEngine, Map<BuiltInModel, Promise<AsyncModel>>>();

/** Lessons with this engine take their models from `loader`, so that live maps beside them have the same copies. */
export const takeModelsFrom = (engine: LessonEngine, loader: Loader): unknown => kLoaders.set(engine, loader);

export function builtIn(engine: LessonEngine, name: BuiltInModel): Promise<AsyncModel> {
  const loader = kLoaders.get(engine);
  if (loader) return loader(name);
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
