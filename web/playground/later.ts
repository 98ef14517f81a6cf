// SPDX-License-Identifier: Apache-2.0
/** Code that a reader may want next is loaded once the first maps are drawn. If that fails, it is tried again when it is wanted. */
import "../maps/changes.js";
import "../maps/characters.js";
import "../state/written-address.js";
import { css } from "lit";
import type { AttentionMap } from "../elements/index.js";
import { sharedEngine } from "../maps/engine.js";
import type { State } from "../state/state.js";
import { kViews } from "../views/computed.js";
import { adopt } from "./adopt.js";
import { byId } from "./by-id.js";
import { offerWhole } from "./whole.js";

/** The figures' own messages, and the menus as they are when they have been opened. */
adopt(css`
  :is(#next, #grid, #map)::part(message) {
    display: grid;
  }

  .menu ul {
    position: absolute;
    z-index: 2;
    right: 0;
    width: max-content;
    max-width: calc(100vw - 32px);
    margin: 4px 0 0;
    padding: 4px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--field);
    list-style: none;
  }

  .menu li button {
    width: 100%;
    min-height: 36px;
    padding: 4px 12px;
    border-radius: 2px;
    font-size: 14px;
    text-align: start;
  }

  .menu li button:hover {
    background: color-mix(in oklab, var(--ink) 8%, transparent);
  }

  /* On phones a menu may be wider than what is left of its button. */
  @media (max-width: 559px) {
    .menus {
      position: relative;
    }

    .menu {
      position: static;
    }
  }

  @media (pointer: coarse) {
    .menu li button {
      min-height: 44px;
      line-height: 36px;
    }
  }
`);

addEventListener("keydown", (event) => {
  const isTyped = event.composedPath().some((target) => target instanceof HTMLElement && target.matches("input, textarea, select"));
  if (event.key !== "?" || isTyped || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  byId("help", HTMLButtonElement).click();
});

const idle = (): Promise<void> => new Promise((resolve) => {
  // Safari has no idle callbacks.
  if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve());
  else setTimeout(resolve, 200);
});

let hasPrepared = false;

/** Loads the code of the views that the tabs of the open head lead to, one by one while nothing else is to be done. */
export async function prepare(): Promise<void> {
  if (hasPrepared) return;
  hasPrepared = true;
  for (const { code, isOfHead, isFor } of kViews) {
    if (isOfHead !== true || isFor || typeof code !== "function") continue;
    await idle();
    await code().catch(() => undefined);
  }
}

/** Calls `act` once, when a reader comes near an element. */
function whenNear(element: HTMLElement, act: () => void): void {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    act();
  }, { rootMargin: "200px" });
  observer.observe(element);
}

type Open = (changes: Partial<State>) => void;

/** Shows the open head on other inputs; undefined until a reader has been near the place where they stand. */
let showElsewhere: ((state: State, open: Open) => void) | undefined;
let last: readonly [state: State, open: Open] | undefined;

/** Loads the figures further down when a reader comes near them, now that those above have their place, and keeps them up to date. */
export function showMore(steps: AttentionMap, state: State, open: Open): void {
  const place = byId("elsewhere", HTMLElement);
  if (!last) {
    offerWhole();
    whenNear(steps, () => (steps.view = "steps"));
    whenNear(place, () => {
      // The figures above say what is wrong, when something is.
      showElsewhere = (...now) => void import("./elsewhere.js").then((code) => code.showElsewhere(...now)).catch(() => (place.hidden = true));
      if (last) showElsewhere(...last);
    });
  }
  last = [state, open];
  showElsewhere?.(state, open);
}

/** Tells readers in the footer what computed the maps, and how long the last ones took (milliseconds). */
export function showEngine(duration: number): void {
  sharedEngine().then(({ info: { version, simd, target, threads } }) => {
    const build = simd === "relaxed" ? "relaxed SIMD" : "SIMD";
    byId("engine", HTMLElement).textContent = `headlens ${version} · ${build} build (${target}) · ${threads === 1 ? "one thread" : `${threads} threads`}, in a worker · drawn in ${duration.toFixed(0)} ms`;
  }, () => undefined); // the elements say what is wrong
}
