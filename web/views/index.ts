// SPDX-License-Identifier: Apache-2.0
/** The views, each under its name for the attribute `view`. The first is the default. */
import { gridView } from "./grid.js";
import { mapView } from "./map.js";
import type { ViewCode, ViewKind } from "./view.js";

/** These need no engine. */
export const kMapViews: readonly ViewKind[] = [
  { name: "grid", title: "All heads", needs: "maps", isShaped: true, watches: [], code: gridView },
  { name: "map", title: "Map", needs: "maps", isOfHead: true, isShaped: true, watches: ["layer", "head"], code: mapView },
  {
    name: "lines",
    title: "Lines",
    needs: "maps",
    isOfHead: true,
    isShaped: true,
    leavesOut: true,
    watches: ["layer", "head", "lines"],
    code: async (): Promise<ViewCode> => (await import("./lines.js")).linesView,
  },
];
