// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const notation: Chapter = {
  name: "notation",
  title: "Rows and columns",
  lessons: {
    "rows-or-columns": () => import("./rows-or-columns/lesson.js"),
  },
};
