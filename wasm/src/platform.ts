// SPDX-License-Identifier: Apache-2.0
/** What differs between the web and Node. The rest of the package knows only this interface. */
import type { Endpoint } from "comlink";
import { HeadlensError } from "./errors.js";
import { show } from "./failures.js";
import type { ThreadTask } from "./serve.js";

export interface WorkerLink {
  readonly endpoint: Endpoint;
  /** Called once if the worker cannot start, or dies. */
  onFailure(listener: (message: string) => void): void;
  /** Whether a call is under way: an idle worker does not keep a Node process alive. */
  setBusy(isBusy: boolean): void;
  terminate(): void;
}

/** A thread of an engine's own. */
export interface Thread {
  terminate(): void;
}

export interface Platform {
  /** What relative URLs given by the caller are relative to. */
  baseUrl(): string;
  /** As the web's fetch; also reads data: URLs under any Content-Security-Policy and, in Node, file: URLs. */
  fetch(url: URL, signal?: AbortSignal): Promise<Response>;
  startWorker(): WorkerLink;
  /** Fails when there will be no thread. */
  startThread(task: ThreadTask): Promise<Thread>;
}

export function absoluteUrl(name: string, source: string | URL, platform: Platform): URL {
  try {
    return new URL(source, platform.baseUrl());
  } catch (error) {
    throw new HeadlensError("value", `${name} is ${show(source)}, which is no URL`, { cause: error });
  }
}

/** A folder's absolute URL, ending in a slash. */
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

export const webPlatform: Platform = {
  baseUrl: () => globalThis.document?.baseURI ?? globalThis.location.href,

  fetch: async (url, signal) => url.protocol === "data:" ? fetchData(url) : fetch(url, signal ? { signal } : {}),

  startWorker() {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "headlens" });
    return {
      endpoint: worker,
      onFailure(listener) {
        worker.addEventListener("error", (event) => listener(event.message || "the script could not be loaded"), { once: true });
      },
      setBusy: () => undefined,
      terminate: () => worker.terminate(),
    };
  },

  startThread(task) {
    const worker = new Worker(new URL("./thread.js", import.meta.url), { type: "module", name: "headlens thread" });
    return new Promise((resolve, reject) => {
      worker.addEventListener("message", () => resolve(worker), { once: true });
      worker.addEventListener("error", reject, { once: true });
      worker.postMessage(task);
    });
  },
};
