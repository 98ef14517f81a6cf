// SPDX-License-Identifier: Apache-2.0
/** This interface hides the differences between the web and Node. No other part of the package depends on either. */
import { show } from "../module/failures.js";
import type { ThreadStart } from "../module/module.js";
import { HeadlensError } from "../types/errors.js";
import type { Tokenizers } from "../tokenizer/read.js";
import type { OwnFile } from "./own-files.js";

export interface WorkerLink {
  /** Sends a message. The buffers in `transfer` move with it, and are gone here. */
  post(message: object, transfer: ArrayBuffer[]): void;
  onMessage(listener: (message: unknown) => void): void;
  /** The listener is called once if the worker cannot start, or dies. */
  onFailure(listener: (message: string) => void): void;
  /** Says whether a call is under way: an idle worker does not keep a Node process alive. */
  setBusy(isBusy: boolean): void;
  terminate(): void;
}

/** A thread belongs to one engine. */
export interface Thread {
  terminate(): void;
}

/** A thread that starts, and waits for its task. */
export interface OpenedThread extends Thread {
  /** Resolves when the thread works on the task. Rejects when there will be no thread. */
  run(task: ThreadTask): Promise<void>;
}

/** A thread's script is sent what it makes its instance from. */
export interface ThreadTask extends ThreadStart {
  readonly code: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
}

/** Files of the package that its script carries, by name. */
export type CarriedFiles = ReadonlyMap<string, Blob>;

export interface Platform {
  /** Relative URLs that the caller gives are relative to this one. */
  baseUrl(): string;
  /** The address of a file of the package. */
  ownFile(name: OwnFile): URL;
  /** Imports the tokenizers of all kinds. A script that bundlers copy as it is does so by this address. */
  tokenizers(address: () => URL): Promise<Tokenizers>;
  /** Gives the package's files, by name, where its script carries them. It then has one build of the engine: baseline, without threads. */
  readonly carried?: () => Promise<CarriedFiles>;
  /** Does what the web's fetch does. It also reads data: URLs under any Content-Security-Policy and, in Node, file: URLs. */
  fetch(url: URL, signal?: AbortSignal): Promise<Response>;
  startWorker(): WorkerLink;
  openThread(): OpenedThread;
}

export function absoluteUrl(name: string, source: string | URL, platform: Platform): URL {
  try {
    return new URL(source, platform.baseUrl());
  } catch (error) {
    throw new HeadlensError("value", `${name} is ${show(source)}, expected a URL`, { cause: error, argument: name, got: show(source), expected: "a URL" });
  }
}

/** Returns a folder's absolute URL, which ends in a slash. */
export function folderUrl(name: string, source: string | URL, platform: Platform): URL {
  const url = absoluteUrl(name, source, platform);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** Bundlers turn small files into data: URLs, which a strict connect-src does not let fetch read. */
export function fetchData(url: URL): Response {
  const [, type = "", base64 = "", body = ""] = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(url.href) ?? [];
  const bytes = base64
    ? Uint8Array.from(atob(body), (char) => char.charCodeAt(0))
    : new TextEncoder().encode(decodeURIComponent(body));
  return new Response(bytes, { headers: { "content-type": type, "content-length": String(bytes.length) } });
}

/** Returns a platform whose own files are those that the script carries. */
export function carrying(carried: () => Promise<CarriedFiles>, platform: Platform): Platform {
  const scheme = "carried:";
  return {
    ...platform,
    carried,
    ownFile: (name) => new URL(scheme + name),
    async fetch(url, signal) {
      if (url.protocol !== scheme) return platform.fetch(url, signal);
      const file = (await carried()).get(url.pathname);
      if (!file) return new Response(null, { status: 404, statusText: "the script does not carry this file" });
      const type = url.pathname.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(file, { headers: { "content-length": String(file.size), "content-type": type } });
    },
  };
}
