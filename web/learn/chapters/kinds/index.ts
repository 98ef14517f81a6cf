// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const kinds: Chapter = {
  name: "kinds",
  title: "Self, cross, encoder, decoder",
  lessons: {},
};
