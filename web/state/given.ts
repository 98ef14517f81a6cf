// SPDX-License-Identifier: Apache-2.0
/** The beginning of the names of models and pictures that a reader gave to a page. They mean nothing elsewhere. */
export const kGiven = "given:";
