// SPDX-License-Identifier: Apache-2.0
/** The views, each under its name for the attribute `view`. The first is the default. */
import { gridView } from "./grid.js";
import { mapView } from "./map.js";
import type { ViewKind } from "./view.js";

/** These need no engine. */
export const kMapViews: readonly ViewKind[] = [
  { name: "grid", title: "All heads", needs: "maps", isShaped: true, watches: [], code: gridView },
  { name: "map", title: "Map", needs: "maps", isOfHead: true, isShaped: true, watches: ["layer", "head"], code: mapView },
];
