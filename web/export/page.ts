// SPDX-License-Identifier: Apache-2.0
/** Pages that others can open or paste: one file that needs nothing else, and the lines that embed an element. */
import { kInitial, type State, writeState } from "../state/state.js";

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char] ?? "");

/** The attributes that show a state. */
export function attributesOf(state: Partial<State>): string {
  return [...writeState(state, kInitial)].map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
}

/** JSON in a page, where a tag in it must not end the script. */
const inPage = (json: string): string => json.replaceAll("<", "\\u003c");

/** A script in a page. Its text means the same afterwards, as such words are in strings and comments only. */
const asScript = (script: string): string => script.replace(/<(?=\/script|!--|script)/gi, "\\x3C");

/** A page that opens offline, with the maps and the script that draws them inside. */
export function pageOf(title: string, state: Partial<State>, json: string, script: string): string {
  const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped(title)}</title>
<style>body { max-width: 1200px; margin: 16px auto; padding: 0 16px; font: 16px/1.5 system-ui, sans-serif; }</style>
<script>${asScript(script)}</script>
</head>
<body>
<attention-map${attributesOf(state)}>
<script type="application/json">${inPage(json)}</script>
</attention-map>
</body>
</html>
`;
}

/** The lines that show an element in another page. */
export function embedCode(scriptUrl: string, state: Partial<State>, json: string | undefined): string {
  const isModule = !/headlens\.(arrays|standalone)[^/]*\.js/.test(scriptUrl);
  const child = json === undefined ? "" : `\n  <script type="application/json">${inPage(json)}</script>\n`;
  return `<script${isModule ? ' type="module"' : ""} src="${escaped(scriptUrl)}"></script>
<attention-map${attributesOf(state)}>${child}</attention-map>
`;
}
