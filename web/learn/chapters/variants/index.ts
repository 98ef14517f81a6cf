// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const variants: Chapter = {
  name: "variants",
  title: "Variants",
  lessons: {},
};
