// SPDX-License-Identifier: Apache-2.0
/** Models that others have published on Hugging Face: some that a click opens, and any other by its name or address. */
import { css, html, nothing, render } from "lit";
import { adopt } from "./adopt.js";
import { openModel } from "./bring.js";
import { byId } from "./by-id.js";
import { kPages, type Page } from "./models.js";
import { type Input, kUsualPicture } from "./usual.js";

interface Published {
  readonly name: string;
  readonly about: string;
  /** Its layers × the heads of each; three times as many where there are three attentions. */
  readonly heads: string;
  /** The size of its files. */
  readonly megabytes: number;
  /** It reads this at first, where it does not go on with the page's text. */
  readonly input?: Partial<Input>;
}

/** Each has its weights as safetensors and a tokenizer.json, and all of its settings are read. */
export const kPublished: readonly Published[] = [
  { name: "openai-community/gpt2", about: "GPT-2, continues English", heads: "12 × 12", megabytes: 550 },
  { name: "distilbert/distilgpt2", about: "a smaller GPT-2", heads: "6 × 12", megabytes: 354 },
  { name: "HuggingFaceTB/SmolLM2-135M", about: "a small Llama, shared keys", heads: "30 × 9", megabytes: 271 },
  { name: "EleutherAI/pythia-70m", about: "continues English, rotary positions", heads: "6 × 8", megabytes: 168 },
  { name: "google-bert/bert-base-uncased", about: "BERT, guesses what [MASK] hides", heads: "12 × 12", megabytes: 441,
    input: { text: "The queen saw the king and [MASK] laughed." } },
  { name: "google-t5/t5-small", about: "T5, translates", heads: "3 × 6 × 8", megabytes: 243,
    input: { source: "translate English to German: The house is wonderful.", text: "Das Haus ist wunderbar." } },
  { name: "google/vit-base-patch16-224", about: "ViT, names what a picture shows", heads: "12 × 12", megabytes: 346, input: { image: kUsualPicture.image } },
  { name: "facebook/dinov2-small", about: "DINOv2, reads pictures", heads: "12 × 6", megabytes: 88, input: { image: kUsualPicture.image } },
];

adopt(css`
  #published:not([hidden]) {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 8px;
    margin-top: 8px;
    padding: 16px;
    border: 1px solid var(--line);
    border-radius: 4px;
    font-size: 14px;
  }

  #published :is(div, label) {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    max-width: 100%;
    gap: 8px;
  }

  #published input {
    width: 40ch;
    max-width: 100%;
    min-height: 36px;
    padding: 4px 12px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--field);
    color: var(--ink);
    font: 14px/24px system-ui, sans-serif;
  }

  #published p {
    margin: 0;
    max-width: 88ch;
    color: var(--faint);
  }

  #published ul {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, max(272px, 22%)), 1fr));
    gap: 8px;
    margin: 0;
    padding: 0;
    list-style: none;
  }

  #published li button {
    display: grid;
    align-content: start;
    width: 100%;
    height: 100%;
    padding: 8px 12px;
    text-align: start;
  }

  #published b {
    font-weight: 600;
    overflow-wrap: anywhere;
  }

  #published span {
    color: var(--faint);
  }

  @media (pointer: coarse) {
    #published :is(input, button) {
      min-height: 44px;
    }
  }
`);

const form = byId("published", HTMLFormElement);
const select = byId("model", HTMLSelectElement);

/** The address of a model: of a page or folder as it is written, or OWNER/NAME. */
export function addressOf(written: string): string {
  const text = written.trim();
  if (/^(www\.)?(huggingface\.co|hf\.co)\//.test(text)) return `https://${text}`;
  return /^[\w-][\w.-]*(\/[\w-][\w.-]*)?$/.test(text) ? kPages + text : text;
}

/** The place of what `loadModel` keeps of models from other servers. */
const kKept = "headlens-models";

/** The names of the models that this browser keeps, or their addresses where they come from elsewhere. */
async function keptModels(): Promise<string[]> {
  if (!("caches" in globalThis) || !(await caches.has(kKept))) return [];
  const files = await (await caches.open(kKept)).keys();
  const weights = files.map(({ url }) => url).filter((url) => url.endsWith(".safetensors"));
  return [...new Set(weights.map((url) => url.replace(/[^/]+$/, "").replace(/\/resolve\/main\/$/, "").replace(kPages, "")))];
}

/** Shows the field and the models. They come back after a model that cannot be read, so that its name can be mended. */
export async function offerPublished(page: Page): Promise<void> {
  const close = (): void => {
    form.hidden = true;
    select.focus();
  };
  const ask = async (): Promise<void> => {
    await show();
    form.hidden = false;
    form.querySelector("input")?.focus();
  };
  const load = async (address: string, input?: Partial<Input>): Promise<void> => {
    close();
    if (await openModel(address, page, input)) await ask();
  };
  const forget = async (): Promise<void> => {
    await caches.delete(kKept);
    await ask();
  };
  const button = ({ name, about, heads, megabytes, input }: Published, kept: readonly string[]): unknown => html`<li>
    <button type="button" @click=${(): void => void load(kPages + name, input)}>
      <b>${name}</b> <span>${about}</span> <span>${heads} heads, ${kept.includes(name) ? "kept here" : `${megabytes} MB`}</span>
    </button>
  </li>`;
  const show = async (): Promise<void> => {
    const kept = await keptModels();
    render(html`
      <div>
        <label>Name on Hugging Face, or address of a folder
          <input type="text" placeholder="openai-community/gpt2" spellcheck="false" autocapitalize="off" required /></label>
        <button>Load</button>
        <button type="button" @click=${close}>Close</button>
      </div>
      <p>Or one of these. Your browser fetches its files from huggingface.co, and computes all by itself.</p>
      <ul>${kPublished.map((one) => button(one, kept))}</ul>
      ${kept.length === 0 ? nothing : html`<div class="kept">
        <p>Kept in this browser for the next time: ${kept.join(", ")}.</p>
        <button type="button" @click=${(): void => void forget()}>Forget ${kept.length === 1 ? "it" : "them"}</button>
      </div>`}
      <p>
        Models of these families can be opened, where their folder has safetensors of up to 2 GB: GPT-2, GPT-Neo, Pythia, Llama, Mistral, Qwen, Gemma, OLMo 2,
        Phi-3, BERT, RoBERTa, DistilBERT, T5, ViT, DeiT and DINOv2.
      </p>`, form);
  };
  form.ariaLabel = "A model from Hugging Face";
  form.onsubmit = (event): void => {
    event.preventDefault();
    void load(addressOf(form.querySelector("input")?.value ?? ""));
  };
  form.onkeydown = ({ key }): void => {
    if (key === "Escape") close();
  };
  await ask();
}
