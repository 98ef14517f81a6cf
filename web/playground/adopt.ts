// SPDX-License-Identifier: Apache-2.0
import type { CSSResult } from "lit";

/** Gives the page the styles of a part that comes after the first maps, together with its code. */
export function adopt({ styleSheet }: CSSResult): void {
  if (styleSheet) document.adoptedStyleSheets.push(styleSheet);
}
