// SPDX-License-Identifier: Apache-2.0
/** A small static server whose answers a test can change. */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const kTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/** The policy under which the package must work: nothing from elsewhere, nothing inline, and no eval. */
export const kStrictCsp = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";

/** Headers that make a page cross-origin isolated, so that threads may share memory in it. */
export const kIsolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** Answers a request itself, or returns false to leave it to the files. */
export type Special = (path: string, response: ServerResponse) => boolean;

export interface Server {
  readonly url: string;
  /** The requested paths, in order. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Serves `folder` on a free port of this machine. */
export async function serve(folder: string, special: Special = () => false, headers = {}): Promise<Server> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    requests.push(path);
    response.setHeader("content-security-policy", kStrictCsp);
    response.setHeaders(new Map<string, string>(Object.entries(headers)));
    if (special(path, response)) return;
    const file = join(folder, normalize(path), path.endsWith("/") ? "index.html" : "");
    if (!existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": kTypes[extname(file)] ?? "application/octet-stream",
      "content-length": statSync(file).size,
    });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
