// SPDX-License-Identifier: Apache-2.0
/** The element loads this after the first picture: the names of heads, the button that explains one, and their order. */
export { nameStyles } from "./name-button.js";
export { Naming } from "./naming.js";
export { rankBy } from "./rank-by.js";
