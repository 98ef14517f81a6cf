// SPDX-License-Identifier: Apache-2.0
/** A model is named by its page on Hugging Face as well, whose files lie at other addresses than the page. */

/** The folder of a model: its address, which ends in a slash, and its name. */
export interface Folder {
  readonly url: URL;
  readonly name: string;
}

const kHost = /^(www\.)?(huggingface\.co|hf\.co)$/;

/** OWNER/NAME, or NAME alone as the first models had it, and then perhaps a revision with a folder or a file in it. */
const kModel = /^\/((?:[^/]+\/)?([^/]+))(?:\/(?:tree|blob|raw|resolve)\/([^/]+)(\/.*)?)?$/;

/** Returns the folder at an address that ends in a slash. */
export function folderAt(url: URL): Folder {
  const [, id, model = "", revision = "main", path = "/"] = kModel.exec(url.pathname.replace(/\/+$/, "")) ?? [];
  if (id === undefined || !kHost.test(url.hostname)) return { url, name: url.pathname.split("/").at(-2) ?? url.host };
  const folder = path.replace(/[^/]+\.(json|safetensors)$/, "").replace(/\/*$/, "/");
  const files = new URL(`/${id}/resolve/${revision}${folder}`, url);
  files.hostname = "huggingface.co"; // which the others lead to, without leave for pages to follow them
  return { url: files, name: model };
}
