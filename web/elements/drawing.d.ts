// SPDX-License-Identifier: Apache-2.0
/** The text of headlens.arrays.js, for the one script that carries everything (web/build.mjs). */
declare module "headlens-drawing" {
  export const drawing: string;
}
