// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const positions: Chapter = {
  name: "positions",
  title: "Position",
  lessons: {},
};
