// SPDX-License-Identifier: Apache-2.0
/** The scripts that exported pages need. Each entry of the package knows its own. */

export interface Script {
  /** The address of the script of this element, which embeds it elsewhere; empty where it has none. */
  readonly url: string;
  /** The text of the classic script that draws arrays. */
  text(this: void): Promise<string>;
}

export async function fetchText(url: string | URL): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${String(url)}: HTTP status ${response.status}`);
  return response.text();
}
