// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const heads: Chapter = {
  name: "heads",
  title: "Many heads",
  lessons: {},
};
