// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const disagreements: Chapter = {
  name: "disagreements",
  title: "Where libraries disagree",
  lessons: {},
};
