// SPDX-License-Identifier: Apache-2.0

/** Scripts whose style sheets and templates are made tight. */
export const kStyled = /\/web\/(views|elements|learn)\/.*\.ts$/;

/** Takes space out of a script's style sheets, and from the beginnings of its templates' lines, which no minifier does. */
export const tightened = (script) => script.replace(/\bcss`[^`]*`/g, (sheet) =>
  sheet.replace(/\/\*.*?\*\//gs, "").replace(/\s+/g, " ").replace(/ ?([{};]) ?/g, "$1")).replace(/\n +/g, "\n");
