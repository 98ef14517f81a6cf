// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const masks: Chapter = {
  name: "masks",
  title: "Masks",
  lessons: {
    causal: () => import("./causal/lesson.js"),
    "mask-first": () => import("./mask-first/lesson.js"),
    padding: () => import("./padding/lesson.js"),
    "valid-lengths": () => import("./valid-lengths/lesson.js"),
    "fully-masked": () => import("./fully-masked/lesson.js"),
    dropout: () => import("./dropout/lesson.js"),
  },
};
