// SPDX-License-Identifier: Apache-2.0
/** All views, with those that compute. Their code is loaded when they are first shown. */
import { kMapViews } from "./index.js";
import type { ViewCode, ViewKind } from "./view.js";

export const kViews: readonly ViewKind[] = [
  ...kMapViews,
  {
    name: "sentence",
    title: "Sentence",
    needs: "maps",
    isEditor: true,
    watches: ["layer", "head"],
    code: async (): Promise<ViewCode> => (await import("./sentence.js")).sentenceView,
  },
  {
    name: "next",
    title: "Next token",
    needs: "run",
    watches: ["query"],
    code: async (): Promise<ViewCode> => (await import("./next.js")).nextView,
  },
  {
    name: "numbers",
    title: "Numbers",
    needs: "run",
    isOfHead: true,
    watches: ["layer", "head", "query", "key", "colors"],
    code: async (): Promise<ViewCode> => (await import("./numbers.js")).numbersView,
  },
  {
    name: "why",
    title: "Why",
    needs: "run",
    isOfHead: true,
    watches: ["layer", "head", "query", "key", "against"],
    code: async (): Promise<ViewCode> => (await import("./why.js")).whyView,
  },
  {
    name: "effect",
    title: "Effect",
    needs: "run",
    isOfHead: true,
    watches: ["layer", "head", "query", "key"],
    code: async (): Promise<ViewCode> => (await import("./effect.js")).effectView,
  },
  {
    name: "decode",
    title: "Decoding",
    needs: "run",
    watches: ["layer", "head"],
    code: async (): Promise<ViewCode> => (await import("./decode.js")).decodeView,
  },
  {
    name: "finder",
    title: "Finder",
    needs: "run",
    watches: ["layer", "head"],
    code: async (): Promise<ViewCode> => (await import("./finder.js")).finderView,
  },
  {
    name: "composition",
    title: "Composition",
    needs: "run",
    watches: [],
    code: async (): Promise<ViewCode> => (await import("./composition.js")).compositionView,
  },
  {
    name: "flow",
    title: "Rollout and flow",
    needs: "run",
    watches: ["query"],
    code: async (): Promise<ViewCode> => (await import("./flow.js")).flowView,
  },
  {
    name: "strips",
    title: "Strips",
    needs: "maps",
    isOfHead: true,
    watches: ["layer", "head", "query", "key"],
    code: async (): Promise<ViewCode> => (await import("./strips.js")).stripsView,
  },
  {
    name: "steps",
    title: "Worked example",
    needs: "nothing",
    watches: ["head", "causal", "example", "colors"],
    code: async (): Promise<ViewCode> => (await import("./steps.js")).stepsView,
  },
];
