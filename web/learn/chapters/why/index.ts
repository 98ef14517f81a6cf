// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const why: Chapter = {
  name: "why",
  title: "From a sentence to a map",
  lessons: {},
};
