// SPDX-License-Identifier: Apache-2.0
/** This is the same package for one script that carries all of its files, as web/build.mjs packs them. */
import { files, worker } from "headlens-carried";
import { makeLoad } from "./load.js";
import { carrying, type CarriedFiles } from "./platform/platform.js";
import { pagePlatform } from "./platform/page.js";
import { linkTo, startSource } from "./platform/web-worker.js";
import type { Load } from "./types/index.js";

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function unpack(packed: string): Promise<Blob> {
  const stream = new Blob([bytesOf(packed)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).blob();
}

async function unpackAll(): Promise<CarriedFiles> {
  const entries = Object.entries(files).map(async ([name, packed]) => [name, await unpack(packed)] as const);
  return new Map(await Promise.all(entries));
}

let unpacked: Promise<CarriedFiles> | undefined;

export const load: Load = makeLoad(carrying(() => unpacked ??= unpackAll(), {
  ...pagePlatform,
  startWorker: () => linkTo(startSource(worker, { name: "headlens" })),
}));
export { HeadlensError, type ErrorCode } from "./types/errors.js";
