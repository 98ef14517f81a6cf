// SPDX-License-Identifier: Apache-2.0
/** One tab stop for a list or a table of buttons, among which the arrow keys move. */

/** Buttons have their places in `data-stop`. */
export class Roving {
  #stop = 0;

  /** `changed` is called when the tab stop is another. */
  constructor(private readonly changed: () => void) {}

  /** The place of the tab stop among `count` buttons. */
  at(count: number): number {
    return Math.max(0, Math.min(this.#stop, count - 1));
  }

  readonly onFocus = (event: FocusEvent): void => {
    const stop = Number((event.target as HTMLElement).dataset.stop ?? NaN);
    if (Number.isNaN(stop) || stop === this.#stop) return;
    this.#stop = stop;
    this.changed();
  };

  readonly onKey = (event: KeyboardEvent): void => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-stop]")];
    const at = buttons.indexOf(event.target as HTMLElement);
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1,
    };
    const to = moves[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    buttons[to]?.focus();
  };
}
