// SPDX-License-Identifier: Apache-2.0
/** The menu Share copies the page's address, and an iframe with the open head. It is loaded when something is copied. */
import { writeAddress } from "../state/written-address.js";
import { kInitial, type State } from "../state/state.js";

/** Returns the lines that show the open head in a page that strips scripts. */
export async function frameOf({ layer, head, ...rest }: State): Promise<string> {
  const address = await writeAddress({ ...rest, layer, head }, kInitial);
  const escaped = new URL(`./embed.html#${address}`, location.href).href.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<iframe src="${escaped}" title="Attention of layer ${layer}, head ${head}" width="100%" height="640" style="border: 0"></iframe>`;
}

/** Copies a text, and returns what there is to say. A page that is not secure has no clipboard, and shows it instead. */
export async function copied(text: string): Promise<string> {
  const { clipboard } = navigator as Partial<Navigator>;
  const isCopied = await clipboard?.writeText(text).then(() => true, () => false);
  return isCopied === true ? "Copied." : text;
}
