// SPDX-License-Identifier: Apache-2.0
/** The views of the whole model, below its heads. */
import { css } from "lit";
import { AttentionMap } from "../elements/index.js";
import { kViews } from "../views/computed.js";
import type { ViewKind } from "../views/view.js";
import { adopt } from "./adopt.js";
import { byId } from "./by-id.js";

adopt(css`
  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    margin-top: 8px;
  }

  .choices [aria-pressed="true"] {
    border-color: var(--accent);
    font-weight: 600;
  }

  /* It stands on the line of the heading. */
  .all {
    position: relative;
  }

  .to-whole {
    position: absolute;
    inset: -10px 0 auto auto;
    min-height: 44px;
    padding: 0;
    color: var(--accent);
    font-size: 14px;
  }

  /* Room to scroll to, before the view has drawn. */
  #whole:not(:empty) {
    min-height: 100vh;
  }

  main:has(#whole-model[hidden]) .to-whole {
    display: none;
  }
`);

/** The views that the page offers, in the order of their buttons. */
const kWhole = kViews.filter(({ name, needs, isOfHead }) =>
  needs === "run" && isOfHead !== true && name !== "next" && name !== "sentence");

/** Shows one view, whose element comes into the page when it is first wanted. */
function showWhole(view: string): void {
  const place = byId("whole", HTMLElement);
  const [known] = place.children;
  const element = known instanceof AttentionMap ? known : document.createElement("attention-map");
  Object.assign(element, { group: "page", view, controls: "full" });
  if (!known) place.append(element);
  for (const button of byId("whole-views", HTMLElement).children)
    button.setAttribute("aria-pressed", String(button.getAttribute("value") === view));
}

/** Loads the code of a view that a reader is about to open. */
function prepare({ code }: ViewKind): void {
  if (!("styles" in code)) code().catch(() => undefined); // opening it tries again and shows the error
}

function buttonOf(kind: ViewKind): HTMLButtonElement {
  const { name, title } = kind;
  const near = (): void => prepare(kind);
  const button = Object.assign(document.createElement("button"), {
    value: name, textContent: title, onpointerenter: near, onfocus: near, onclick: () => showWhole(name),
  });
  button.setAttribute("aria-pressed", "false");
  return button;
}

export function offerWhole(): void {
  const choices = byId("whole-views", HTMLElement);
  Object.assign(choices, { className: "choices", role: "group", ariaLabel: "View of the model" });
  choices.replaceChildren(...kWhole.map(buttonOf));
  const onclick = (): void => {
    const open = choices.querySelector<HTMLElement>("[aria-pressed=true]") ?? choices.querySelector("button");
    open?.click();
    open?.focus({ preventScroll: true });
    byId("whole-model", HTMLElement).scrollIntoView();
  };
  byId("all-label", HTMLElement).after(Object.assign(document.createElement("button"), {
    className: "to-whole", textContent: "The whole model ↓", onclick,
  }));
}
