// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const positions: Chapter = {
  name: "positions",
  title: "Position",
  lessons: {
    "order-blind": () => import("./order-blind/lesson.js"),
    sinusoids: () => import("./sinusoids/lesson.js"),
    "bias-by-distance": () => import("./bias-by-distance/lesson.js"),
    "far-distances": () => import("./far-distances/lesson.js"),
    rotation: () => import("./rotation/lesson.js"),
  },
};
