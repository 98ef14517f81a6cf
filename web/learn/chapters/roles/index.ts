// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const roles: Chapter = {
  name: "roles",
  title: "What heads do",
  lessons: {},
};
