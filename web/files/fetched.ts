// SPDX-License-Identifier: Apache-2.0
/** Files of the web, in one piece and within limits. */
import { kMaxBytes, show } from "./limits.js";

/** The last part of an address, which names the file in messages. */
export function fileName({ protocol, pathname }: URL): string {
  if (protocol === "data:") return "the data";
  const last = pathname.split("/").filter(Boolean).at(-1) ?? pathname;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function checkSize(name: string, bytes: number): void {
  if (bytes > kMaxBytes) throw new Error(`${name} has ${bytes} bytes or more, expected at most ${kMaxBytes}`);
}

/** Told the bytes that have come, and those of the whole file as far as they are known. */
export type OnProgress = (loaded: number, total: number) => void;

async function bodyOf(name: string, response: Response, onProgress: OnProgress): Promise<Uint8Array<ArrayBuffer>> {
  const total = Number(response.headers.get("content-length")) || 0;
  checkSize(name, total);
  const chunks: Uint8Array[] = [];
  let loaded = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    chunks.push(next.value);
    loaded += next.value.length;
    checkSize(name, loaded);
    // A packed answer is longer than its content-length says, so that the whole is not known.
    onProgress(loaded, loaded <= total ? total : 0);
  }
  const bytes = new Uint8Array(loaded);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Fetches a file, whose address is relative to the document. Throws an Error that names it when there is none. */
export async function fetchFile(
  address: string, signal: AbortSignal, onProgress: OnProgress,
): Promise<{ name: string; bytes: Uint8Array<ArrayBuffer> }> {
  const url = URL.canParse(address, document.baseURI) ? new URL(address, document.baseURI) : undefined;
  if (!url) throw new Error(`src is ${show(address)}, expected the address of a file`);
  const name = fileName(url);
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`src: ${name} cannot be fetched: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (!response.ok) throw new Error(`src: the server answers ${response.status} ${response.statusText} for ${name}, expected the file`);
  return { name, bytes: await bodyOf(name, response, onProgress) };
}
