// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench: installs the peers once, without running any of their scripts, and starts bench.mjs (or tab.mjs,
 * first.mjs, page.mjs, explore.mjs, explain.mjs, pythia.mjs or gpt2.mjs, when the first argument is its name) in a Node
 * with relaxed SIMD and type stripping.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const kLeastNode = 24;

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (error) console.error(`cannot run ${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

function need(path, how) {
  if (existsSync(`${root}${path}`)) return;
  console.error(`${path} is not there: ${how}`);
  process.exit(1);
}

function installPeers() {
  const lock = readFileSync(`${here}package-lock.json`, "utf8");
  const stamp = `${here}node_modules/.headlens-stamp`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.error("installing what is measured against (about 600 MB, once)");
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], here);
  writeFileSync(stamp, lock);
}

function findNode() {
  if (Number(process.versions.node.split(".")[0]) >= kLeastNode) return process.execPath;
  const own = `${here}node_modules/node-${process.platform}-${process.arch}/bin/node`;
  if (existsSync(own)) return own;
  console.error(`Node ${kLeastNode} or newer is needed here, and this is ${process.versions.node}`);
  process.exit(1);
}

const [kind, ...rest] = process.argv.slice(2);
need("dist/node.js", "npm run build");
// Each measures WebAssembly alone.
const scripts = {
  tab: "tab.mjs", first: "first.mjs", page: "page.mjs", explore: "explore.mjs", explain: "explain.mjs",
  pythia: "pythia.mjs", gpt2: "gpt2.mjs",
};
if (!scripts[kind]) need("build/native/headlens", "cmake --preset native && cmake --build --preset native");
installPeers();
run(findNode(), scripts[kind] ? [`${here}${scripts[kind]}`, ...rest] : [`${here}bench.mjs`, ...process.argv.slice(2)], root);
