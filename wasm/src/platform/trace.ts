// SPDX-License-Identifier: Apache-2.0
/** In Node an error's trace begins at the caller's own code. */
import { fileURLToPath } from "node:url";
import { type HeadlensError, trace } from "../types/errors.js";

/** The package's scripts lie in the one folder, and their source maps lead to the other. Traces show places as URLs or as paths. */
const kOwnPlaces = ["./", "../wasm/src/"].flatMap((folder) => {
  const { href } = new URL(folder, import.meta.url);
  return [href, fileURLToPath(href)];
});

/** The most frames of the package itself that may be above the caller's. */
const kMostOwn = 40;

const isFrame = (line: string): boolean => line.startsWith("    at ");
const isOwn = (line: string): boolean => kOwnPlaces.some((place) => line.includes(place));

/** Leaves the package's own frames out, but for those of a fault of its own, and where there are no others. */
function shorten(error: HeadlensError): void {
  if (error.code === "internal") return;
  const most = Error.stackTraceLimit;
  Error.stackTraceLimit = most + kMostOwn;
  Error.captureStackTrace(error);
  Error.stackTraceLimit = most;
  const lines = error.stack?.split("\n") ?? [];
  const frames = lines.filter((line) => isFrame(line) && !isOwn(line)).slice(0, most);
  if (frames.length > 0) error.stack = [...lines.slice(0, lines.findIndex(isFrame)), ...frames].join("\n");
}

export function shortenTraces(): void {
  trace.shorten = shorten;
}
