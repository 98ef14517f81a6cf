// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const heads: Chapter = {
  name: "heads",
  title: "Many heads",
  lessons: {
    "six-steps": () => import("./six-steps/lesson.js"),
    price: () => import("./price/lesson.js"),
    shapes: () => import("./shapes/lesson.js"),
    split: () => import("./split/lesson.js"),
    "four-heads": () => import("./four-heads/lesson.js"),
    averaged: () => import("./averaged/lesson.js"),
    defaults: () => import("./defaults/lesson.js"),
  },
};
