// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const checkpoints: Chapter = {
  name: "checkpoints",
  title: "Predict, then see",
  lessons: {},
};
