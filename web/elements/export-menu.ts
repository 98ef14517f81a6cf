// SPDX-License-Identifier: Apache-2.0
/** The menu below a view that saves what it shows. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";

/** The element, as far as the menu needs it. */
export interface Exporting {
  requestUpdate(): void;
  toSVG(): Promise<string>;
  toBlob(options: { scale: number }): Promise<Blob>;
  toCSV(): Promise<string>;
  toJSON(): Promise<string>;
  toNPY(): Promise<BlobPart>;
  toHTML(): Promise<string>;
  toEmbedCode(): Promise<string>;
}

type Kind = readonly [name: string, extension: string, type: string, make: (of: Exporting) => Promise<BlobPart>];

const kKinds: readonly Kind[] = [
  ["SVG", "svg", "image/svg+xml", (of) => of.toSVG()],
  ["PNG", "png", "image/png", (of) => of.toBlob({ scale: 2 })],
  ["CSV", "csv", "text/csv", (of) => of.toCSV()],
  ["JSON", "json", "application/json", (of) => of.toJSON()],
  ["NumPy", "npy", "application/octet-stream", (of) => of.toNPY()],
  ["page", "html", "text/html", (of) => of.toHTML()],
];

export class ExportMenu {
  #message = "";
  #code = "";

  constructor(private readonly host: Exporting) {}

  render(): TemplateResult {
    const save = (kind: Kind): TemplateResult => html`<button @click=${(): void => void this.#try(() => this.#save(kind))}>${kind[0]}</button>`;
    return html`
      <div class="choose">
        ${kKinds.map(save)}
        <button @click=${(): void => void this.#try(() => this.#copy())}>copy embed code</button>
      </div>
      ${this.#code === "" ? nothing : html`<textarea readonly rows="4" aria-label="Embed code" .value=${this.#code} @focus=${selectAll}></textarea>`}
      <p role="status">${this.#message}</p>
    `;
  }

  async #try(work: () => Promise<string>): Promise<void> {
    this.#code = "";
    try {
      this.#message = await work();
    } catch (error) {
      this.#message = error instanceof Error ? error.message : String(error);
    }
    this.host.requestUpdate();
  }

  async #save([, extension, type, make]: Kind): Promise<string> {
    const made = await make(this.host);
    const url = URL.createObjectURL(new Blob([made], { type }));
    const name = `attention.${extension}`;
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may read it later
    return `Saved as ${name}.`;
  }

  /** Shows the code as well, since a page that is not secure cannot reach the clipboard. */
  async #copy(): Promise<string> {
    this.#code = await this.host.toEmbedCode();
    const { clipboard } = navigator as Partial<Navigator>;
    return (await clipboard?.writeText(this.#code).then(() => "Copied.", () => undefined)) ?? "Copy these lines:";
  }
}

function selectAll(event: Event): void {
  if (event.target instanceof HTMLTextAreaElement) event.target.select();
}

export const kMenuStyles = css`
  .export .choose {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
  }
  .export button {
    min-height: 24px;
    color: var(--ink);
    text-decoration: underline;
    text-underline-offset: 3px;
  }
  .export p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  .export textarea {
    width: 100%;
    font: 12px/16px var(--mono);
  }
  @media (pointer: coarse) {
    .export summary,
    .export button {
      min-height: 44px;
    }
  }
`;
