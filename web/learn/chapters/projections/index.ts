// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const projections: Chapter = {
  name: "projections",
  title: "Queries, keys and values",
  lessons: {},
};
