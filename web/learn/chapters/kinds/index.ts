// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const kinds: Chapter = {
  name: "kinds",
  title: "Self, cross, encoder, decoder",
  lessons: {
    "one-or-two": () => import("./one-or-two/lesson.js"),
    alignment: () => import("./alignment/lesson.js"),
    "three-attentions": () => import("./three-attentions/lesson.js"),
    "both-ways": () => import("./both-ways/lesson.js"),
    "feed-forward": () => import("./feed-forward/lesson.js"),
  },
};
