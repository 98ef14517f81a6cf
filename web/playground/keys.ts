// SPDX-License-Identifier: Apache-2.0
/** The list of keys, which is made when a reader asks for it first. */
import { css, html, render } from "lit";
import { adopt } from "./adopt.js";

const kKeys = html`
  <dialog id="keys" aria-labelledby="keys-label">
    <h2 id="keys-label">Keys</h2>
    <dl>
      <div><dt><kbd>↑</kbd> <kbd>↓</kbd> <kbd>←</kbd> <kbd>→</kbd></dt><dd>move among tokens, heads or cells; with <kbd>Shift</kbd> ten cells</dd></div>
      <div><dt><kbd>Enter</kbd></dt><dd>opens a head, pins a token or a cell</dd></div>
      <div><dt><kbd>p</kbd></dt><dd>pins what is under the cursor; <kbd>Shift</kbd> adds it</dd></div>
      <div><dt><kbd>Escape</kbd></dt><dd>frees what is pinned, then goes back to all heads</dd></div>
      <div><dt><kbd>[</kbd> <kbd>]</kbd></dt><dd>the head before, the next head</dd></div>
      <div><dt><kbd>s</kbd></dt><dd>silences the open head, or lets it speak again</dd></div>
      <div><dt><kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd></dt><dd>zoom a map; the whole map</dd></div>
      <div><dt><kbd>?</kbd></dt><dd>these keys</dd></div>
    </dl>
    <p>Pointing previews, a click pins, <kbd>Shift</kbd> and a click add. The browser’s back button undoes.</p>
    <form method="dialog"><button>Close</button></form>
  </dialog>
`;

adopt(css`
  dialog {
    max-width: min(560px, calc(100vw - 32px));
    padding: 16px 24px;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--field);
    color: var(--ink);
  }

  dialog dl {
    margin: 16px 0;
  }

  dialog dl div {
    display: grid;
    grid-template-columns: 128px 1fr;
    gap: 16px;
  }

  dialog dd {
    margin: 0;
  }

  kbd {
    padding: 0 4px;
    border: 1px solid var(--line);
    border-radius: 4px;
    font: 12px/20px ui-monospace, monospace;
  }

  dialog form {
    margin-top: 16px;
    text-align: end;
  }
`);

export function showKeys(): void {
  render(kKeys, document.body);
  document.querySelector<HTMLDialogElement>("#keys")?.showModal();
}
