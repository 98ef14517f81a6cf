// SPDX-License-Identifier: Apache-2.0
/** A server of files as they come over a slow line, compressed as static hosts do it. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

const kTypes = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
  ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png",
};
const kPiece = 4096;

const sleep = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/**
 * Serves `folder`, and returns its address and a function that stops it. All answers share a line of so many bytes per
 * second, in the order of their pieces, and each begins `latency` milliseconds after its request.
 */
export async function serveThrottled(folder, { bytesPerSecond, latency }) {
  let free = 0; // when the line has sent all that was given to it
  const cache = new Map();
  const packed = (file) => {
    const known = cache.get(file) ?? gzipSync(readFileSync(file));
    cache.set(file, known);
    return known;
  };
  const send = async (response, body) => {
    await sleep(latency);
    for (let at = 0; at < body.length && !response.destroyed; at += kPiece) {
      const piece = body.subarray(at, at + kPiece);
      free = Math.max(free, performance.now()) + piece.length / bytesPerSecond * 1000;
      await sleep(free - performance.now());
      response.write(piece);
    }
    response.end();
  };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(folder, normalize(path), path.endsWith("/") ? "index.html" : "");
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    const type = kTypes[extname(file)];
    // Hosts compress what they know to be text or code, and send weights as they are.
    const isPacked = type !== undefined && type !== "image/png";
    const body = isPacked ? packed(file) : readFileSync(file);
    response.setHeader("content-type", type ?? "application/octet-stream");
    if (isPacked) response.setHeader("content-encoding", "gzip");
    response.writeHead(200, { "content-length": body.length });
    return void send(response, body);
  });
  await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => new Promise((closed) => {
      server.closeAllConnections();
      server.close(() => { closed(); });
    }),
  };
}
