// SPDX-License-Identifier: Apache-2.0
/** The views, each under its name for the attribute `view`. The first is the default. */
import { gridView } from "./grid.js";
import { mapView } from "./map.js";
import { stepsView } from "./steps.js";
import type { ViewKind } from "./view.js";

export const kViews: readonly ViewKind[] = [gridView, mapView, stepsView];
