// SPDX-License-Identifier: Apache-2.0
/** All views, with those that compute. Their code is loaded when they are first shown. */
import { kMapViews } from "./index.js";
import type { ViewCode, ViewKind } from "./view.js";

export const kViews: readonly ViewKind[] = [
  ...kMapViews,
  {
    name: "compare",
    title: "Compare",
    needs: "run",
    isOfHead: true,
    watches: ["layer", "head", "compareText", "compareHead", "compareModel"],
    code: async (): Promise<ViewCode> => (await import("./compare.js")).compareView,
  },
  {
    name: "picture",
    title: "Picture",
    needs: "run",
    isOfHead: true,
    watches: ["layer", "head"],
    code: async (): Promise<ViewCode> => (await import("./picture.js")).pictureView,
  },
  {
    name: "steps",
    title: "Worked example",
    needs: "nothing",
    watches: ["head", "causal", "example", "colors"],
    code: async (): Promise<ViewCode> => (await import("./steps.js")).stepsView,
  },
];
