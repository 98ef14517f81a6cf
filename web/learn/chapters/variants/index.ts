// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const variants: Chapter = {
  name: "variants",
  title: "Variants",
  lessons: {
    normalizers: () => import("./normalizers/lesson.js"),
    "padded-batch": () => import("./padded-batch/lesson.js"),
    "shared-keys": () => import("./shared-keys/lesson.js"),
    patches: () => import("./patches/lesson.js"),
    "shape-finder": () => import("./shape-finder/lesson.js"),
    "words-and-picture": () => import("./words-and-picture/lesson.js"),
    pruning: () => import("./pruning/lesson.js"),
  },
};
