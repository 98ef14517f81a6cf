// SPDX-License-Identifier: Apache-2.0
/** All views, with those that compute. */
import { kMapViews } from "./index.js";
import { stepsView } from "./steps.js";
import type { ViewKind } from "./view.js";

export const kViews: readonly ViewKind[] = [...kMapViews, stepsView];
