// SPDX-License-Identifier: Apache-2.0
/** Resolves once a frame is painted, or at once where none is: in a page that nobody sees. */
export const afterPaint = (): Promise<void> => new Promise((resolve) => {
  if (document.hidden) resolve();
  else requestAnimationFrame(() => setTimeout(resolve));
});
