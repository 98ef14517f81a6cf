// SPDX-License-Identifier: Apache-2.0
/** A reader of the book in Firefox. */
import { readBook } from "./all.js";

readBook("Firefox");
