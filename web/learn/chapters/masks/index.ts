// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const masks: Chapter = {
  name: "masks",
  title: "Masks",
  lessons: {},
};
