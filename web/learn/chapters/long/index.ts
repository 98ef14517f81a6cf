// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const long: Chapter = {
  name: "long",
  title: "Long texts",
  lessons: {
    "quadratic-cost": () => import("./quadratic-cost/lesson.js"),
    blocks: () => import("./blocks/lesson.js"),
    "unstored-maps": () => import("./unstored-maps/lesson.js"),
    "window-reach": () => import("./window-reach/lesson.js"),
  },
};
