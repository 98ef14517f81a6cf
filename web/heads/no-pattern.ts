// SPDX-License-Identifier: Apache-2.0
/** The name of a head of which no rule holds. */
export const kNoPattern = "no clear pattern";
