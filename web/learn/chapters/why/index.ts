// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const why: Chapter = {
  name: "why",
  title: "From a sentence to a map",
  lessons: {
    "what-a-token-looks-at": () => import("./what-a-token-looks-at/lesson.js"),
    shares: () => import("./shares/lesson.js"),
    "blend-of-values": () => import("./blend-of-values/lesson.js"),
    "direct-access": () => import("./direct-access/lesson.js"),
  },
};
