// SPDX-License-Identifier: Apache-2.0
/** Runnable variants of attention. */
export { normalizers, type NormalizersOptions } from "./normalizers.js";
export { padding, type PaddingOptions } from "./padding.js";
export { patches, kTwoSquares, type PatchesOptions } from "./patches.js";
export { patchify, picture, type Patches, type Shape } from "./pictures.js";
export { pruning, type PruningOptions } from "./pruning.js";
export { sharing, type SharingOptions } from "./sharing.js";
export { kThreeSquares, textAndImage, type TextAndImageOptions } from "./text-and-image.js";
