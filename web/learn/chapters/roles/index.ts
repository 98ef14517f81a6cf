// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const roles: Chapter = {
  name: "roles",
  title: "What heads do",
  lessons: {
    flip: () => import("./flip/lesson.js"),
    induction: () => import("./induction/lesson.js"),
    found: () => import("./found/lesson.js"),
    sink: () => import("./sink/lesson.js"),
  },
};
