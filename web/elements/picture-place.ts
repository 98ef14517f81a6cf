// SPDX-License-Identifier: Apache-2.0
/** The place where a reader gives a picture to a model that reads pictures: dropped, chosen or pasted. */
import { css, html } from "lit";
import type { TemplateResult } from "lit";
import { givePicture } from "../maps/pictures.js";
import type { Host } from "../views/view.js";

export class PicturePlace {
  #said = "";

  constructor(private readonly host: Host) {}

  render(): TemplateResult {
    return html`
      <div class="place" part="place" tabindex="0" role="group" aria-label="A place for a picture"
        @dragover=${(event: Event): void => event.preventDefault()} @drop=${this.#onDrop} @paste=${this.#onPaste}>
        <p>This model reads pictures. Drop one here, paste one, or</p>
        <label class="place-choose">Choose a picture … <input class="unseen" type="file" accept="image/*" @change=${this.#onChoose} /></label>
        <p role="status">${this.#said}</p>
      </div>
    `;
  }

  readonly #onDrop = (event: DragEvent): void => this.#take(event, event.dataTransfer?.files[0]);

  readonly #onPaste = (event: ClipboardEvent): void => this.#take(event, event.clipboardData?.files[0]);

  readonly #onChoose = (event: Event): void => this.#take(event, (event.target as HTMLInputElement).files?.[0]);

  #take(event: Event, file: File | undefined): void {
    event.preventDefault();
    event.stopPropagation();
    this.#say(file ? "Reading …" : "That is no file; a picture is wanted.");
    if (file) givePicture(file).then((image) => {
      this.#said = "";
      this.host.change({ image, query: "", key: "" });
    }, (error: unknown) => this.#say(error instanceof Error ? error.message : String(error)));
  }

  #say(words: string): void {
    this.#said = words;
    this.host.requestUpdate();
  }
}

export const kPlaceStyles = css`
  .place {
    display: grid;
    gap: 8px;
    justify-items: center;
    padding: 24px 16px;
    border: 1px dashed var(--faint);
    border-radius: 4px;
    color: var(--faint);
    text-align: center;
  }
  .place p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  .place-choose {
    min-height: 24px;
    padding: 8px 16px;
    border: 1px solid var(--line);
    border-radius: 4px;
    color: var(--ink);
    cursor: pointer;
  }
  .place-choose:focus-within {
    outline: 2px solid var(--accent);
  }
  @media (pointer: coarse) {
    .place-choose {
      min-height: 28px;
    }
  }
`;
