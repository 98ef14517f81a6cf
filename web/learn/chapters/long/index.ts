// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const long: Chapter = {
  name: "long",
  title: "Long texts",
  lessons: {},
};
