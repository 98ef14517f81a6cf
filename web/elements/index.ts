// SPDX-License-Identifier: Apache-2.0
/** Importing this file registers `<attention-map>` with the engine, unless the page already has such an element. */
import { askedOf } from "../maps/asked.js";
import type { Computing } from "../maps/computing.js";
import { giveModel, isStarted, sharedEngine } from "../maps/engine.js";
import { loadModel, modelMaps as mapsOf, readsPictures } from "../maps/model-runs.js";
import { silencedToggled } from "../maps/silenced.js";
import { kViews } from "../views/computed.js";
import { AttentionMap } from "./attention-map.js";
import { define } from "./define.js";

export { AttentionMap };
export type { AttentionMapEventMap, AttentionMapEvents } from "./events.js";
export type { HeadMap, HeadValue } from "./methods.js";
export type { NestedNumbers } from "../maps/nested.js";
export type { WorkedExample } from "../views/worked-example.js";

AttentionMap.views = kViews;
const naming = (): Promise<typeof import("../heads/index.js")> => import("../heads/index.js");
AttentionMap.picturePlace = () => import("./picture-place.js");
const computedMaps: Computing["computedMaps"] = async (given) =>
  (await import("../maps/computed-maps.js")).computedMaps(given);
const modelMaps: Computing["modelMaps"] = async (state, ...following) => mapsOf(askedOf(state), ...following);
const engine = (): ReturnType<typeof sharedEngine> => sharedEngine();
AttentionMap.computing = {
  giveModel, loadModel, modelMaps, readsPictures, silencedToggled, computedMaps, naming, engine, isStarted,
};
define();
