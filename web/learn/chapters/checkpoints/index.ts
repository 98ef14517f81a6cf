// SPDX-License-Identifier: Apache-2.0
import type { Chapter } from "../../book.js";

export const checkpoints: Chapter = {
  name: "checkpoints",
  title: "Predict, then see",
  lessons: {
    "near-equal-keys": () => import("./near-equal-keys/lesson.js"),
    "one-huge-score": () => import("./one-huge-score/lesson.js"),
    "keys-as-values": () => import("./keys-as-values/lesson.js"),
    "self-or-cross": () => import("./self-or-cross/lesson.js"),
    "equal-scores": () => import("./equal-scores/lesson.js"),
    "other-values": () => import("./other-values/lesson.js"),
    "one-masked-token": () => import("./one-masked-token/lesson.js"),
    "two-heads-one-token": () => import("./two-heads-one-token/lesson.js"),
    "identical-embeddings": () => import("./identical-embeddings/lesson.js"),
    "indivisible-width": () => import("./indivisible-width/lesson.js"),
    "weak-query": () => import("./weak-query/lesson.js"),
  },
};
