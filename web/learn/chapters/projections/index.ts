// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const projections: Chapter = {
  name: "projections",
  title: "Queries, keys and values",
  lessons: {
    "measure-of-fit": () => import("./measure-of-fit/lesson.js"),
    "cat-sat-on-mat": () => import("./cat-sat-on-mat/lesson.js"),
    "three-roles": () => import("./three-roles/lesson.js"),
    "seed-123": () => import("./seed-123/lesson.js"),
  },
};
