// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const disagreements: Chapter = {
  name: "disagreements",
  title: "Where libraries disagree",
  lessons: {
    "mask-true": () => import("./mask-true/lesson.js"),
    "causal-corner": () => import("./causal-corner/lesson.js"),
    "fully-masked-row": () => import("./fully-masked-row/lesson.js"),
    "nan-behind-mask": () => import("./nan-behind-mask/lesson.js"),
    "shared-head-order": () => import("./shared-head-order/lesson.js"),
    "cap-or-bias-first": () => import("./cap-or-bias-first/lesson.js"),
  },
};
