// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const scores: Chapter = {
  name: "scores",
  title: "Scores, scaling, softmax",
  lessons: {
    "softmax-by-hand": () => import("./softmax-by-hand/lesson.js"),
    vanishing: () => import("./vanishing/lesson.js"),
    saturation: () => import("./saturation/lesson.js"),
    "two-divisions": () => import("./two-divisions/lesson.js"),
  },
};
