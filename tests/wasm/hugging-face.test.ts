// SPDX-License-Identifier: Apache-2.0
/** Each address that a reader may copy from Hugging Face leads to the folder of its model, and all others stay as they are. */
import { expect, test } from "vitest";
import { folderAt } from "../../wasm/src/files/hugging-face.js";

const kModel = "https://huggingface.co/openai-community/gpt2";
const kMain = `${kModel}/resolve/main/`;

test.each([
  [kModel, kMain, "gpt2"],
  [`${kModel}/`, kMain, "gpt2"],
  [`${kModel}?library=transformers#files`, kMain, "gpt2"],
  [`${kModel}/tree/main`, kMain, "gpt2"],
  [`${kModel}/blob/main/config.json`, kMain, "gpt2"],
  [`${kModel}/resolve/main/`, kMain, "gpt2"],
  [`${kModel}/resolve/main/model.safetensors?download=true`, kMain, "gpt2"],
  [`${kModel}/tree/refs%2Fpr%2F7`, `${kModel}/resolve/refs%2Fpr%2F7/`, "gpt2"],
  [`${kModel}/tree/v1.0/sub/folder.of`, `${kModel}/resolve/v1.0/sub/folder.of/`, "gpt2"],
  ["https://www.huggingface.co/openai-community/gpt2", kMain, "gpt2"],
  ["https://hf.co/openai-community/gpt2", kMain, "gpt2"],
  ["https://huggingface.co/gpt2", "https://huggingface.co/gpt2/resolve/main/", "gpt2"],
  ["https://huggingface.co/gpt2/resolve/main/", "https://huggingface.co/gpt2/resolve/main/", "gpt2"],
  // These are no models, or lie elsewhere.
  ["https://huggingface.co/datasets/owner/name/", "https://huggingface.co/datasets/owner/name/", "name"],
  ["https://huggingface.co/", "https://huggingface.co/", ""],
  ["https://example.org/openai-community/gpt2/", "https://example.org/openai-community/gpt2/", "gpt2"],
  ["https://huggingface.co.example.org/a/b/", "https://huggingface.co.example.org/a/b/", "b"],
  ["file:///models/tiny/", "file:///models/tiny/", "tiny"],
])("%s", (address, url, name) => {
  const folder = folderAt(new URL(address));
  expect({ url: folder.url.href, name: folder.name }).toEqual({ url, name });
});
