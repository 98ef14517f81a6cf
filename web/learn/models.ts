// SPDX-License-Identifier: Apache-2.0
/** The built-in models, which lessons share: each is loaded once for an engine. */
import type { AsyncModel, BuiltInModel, Model } from "headlens";
import type { LessonEngine } from "./experiments/numbers.js";

type Loading = Promise<Model | AsyncModel>;

const kLoaded = new WeakMap<LessonEngine, Map<BuiltInModel, Loading>>();

export function builtIn(engine: LessonEngine, name: BuiltInModel): Loading {
  const models = kLoaded.get(engine) ?? new Map<BuiltInModel, Loading>();
  kLoaded.set(engine, models);
  const known = models.get(name);
  if (known) return known;
  const loading: Loading = engine.loadModel(name);
  models.set(name, loading);
  // A model that did not come may come the next time.
  loading.catch(() => models.delete(name));
  return loading;
}
