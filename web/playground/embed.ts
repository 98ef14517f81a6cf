// SPDX-License-Identifier: Apache-2.0
/**
 * One figure as a page of its own, for the iframes of hosts that strip scripts: embed.html#view=map&layer=3&head=2&text=…
 * It tells the page around it how high it is: `{ type: "headlens-height", height }`.
 */
import "../elements/index.js";
import { readAddress } from "../state/address.js";
import { kInitial, type State } from "../state/state.js";

const figure = document.querySelector("attention-map");
const link = document.querySelector("a");
const alert = document.querySelector<HTMLElement>("[role=alert]");

function say(words: string): void {
  if (!alert) return;
  alert.textContent = words;
  alert.hidden = words === "";
}

async function show(): Promise<void> {
  if (!figure) return;
  const { state, text, needs } = readAddress(location.hash);
  if (link) link.href = `./${location.hash}`;
  const fields: Partial<State> = { ...kInitial, ...state };
  Object.assign(figure, fields);
  say(needs.length > 0 ? `This address could not hold the ${needs.join(" and the ")}: open it in headlens and give it there.` : "");
  if (text) figure.text = await text;
}

const shown = (): void => void show().catch((error: unknown) => say(String(error)));

new ResizeObserver(() => {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
  parent.postMessage({ type: "headlens-height", height }, "*"); // a height is no secret
}).observe(document.documentElement);
addEventListener("hashchange", shown);
shown();
