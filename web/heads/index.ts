// SPDX-License-Identifier: Apache-2.0
/** The element loads this after the first picture: the names of heads, and the button that explains one. */
export { nameStyles } from "./name-button.js";
export { Naming } from "./naming.js";
