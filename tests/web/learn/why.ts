// SPDX-License-Identifier: Apache-2.0
import type { Book } from "./book.js";

export function readWhy(_: Book): void {
  // The chapter has no lessons yet.
}
