// Sets up, builds, serves and tests headlens with Node alone. The scripts of package.json call it:
//
//   npm start        set up, build, and serve the playground on http://localhost:5173 (or PORT; 0 takes any free port)
//   npm test         set up, build, and run every test; `npm test -- native js` runs only those stages, and
//                    `npm test -- --quick` a fast selection: format, types, lint, native C++ tests without the OpenCL
//                    kernels and the random problems, and the tests of the npm package and the program without browsers
//   npm run build    set up, and fill dist/
//   npm run setup    set up only
//   npm run format   format the C++ sources
//   npm run train    `npm run train -- NAME` trains a built-in model: web/models/train/README.md
//
// `node setup.mjs serve` serves what has already been built.
//
// Every step is skipped when nothing that it depends on has changed. The output of the steps goes to build/logs. The
// syntax is limited to ES2019, so that an old Node can still report that it is too old.
import { spawn, spawnSync } from "child_process";
import crypto from "crypto";
import fs from "fs";
import os from "os";
import path from "path";
import { fileURLToPath } from "url";

const root = path.dirname(fileURLToPath(import.meta.url));
const at = (...parts) => path.join(root, ...parts);
const logs = at("build", "logs");
const cores = os.availableParallelism ? os.availableParallelism() : os.cpus().length;
const isRoot = Boolean(process.getuid) && process.getuid() === 0;

/** An error whose message is all that the user needs to see. */
class Failure extends Error {}

// ---------------------------------------------------------------------------------------------- running and reporting

const bold = (text) => (process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text);

/** The steps that are running, each with its title and start time. */
const underWay = new Set();
const tty = process.stdout.isTTY;
const clearLine = tty ? "\r\x1b[K" : "";
const secondsOf = ({ started }) => `${((Date.now() - started) / 1000).toFixed(1)} s`;

/** Shows the running steps. In a terminal they are always on the last line. */
function showUnderWay() {
  if (underWay.size === 0) return;
  const text = `  ${[...underWay].map((one) => `${one.title} … ${secondsOf(one)}`).join(" · ")}`;
  process.stdout.write(tty ? clearLine + text.slice(0, (process.stdout.columns || 80) - 1) : `${text}\n`);
}

/** Runs one piece of work under a title, and reports its time and the result of `work`. */
async function step(title, work) {
  const one = { title, started: Date.now() };
  underWay.add(one);
  if (tty) showUnderWay();
  const timer = setInterval(() => [...underWay][0] === one && showUnderWay(), tty ? 200 : 30000);
  let note = "failed";
  try {
    note = (await work()) || "";
  } finally {
    clearInterval(timer);
    underWay.delete(one);
    process.stdout.write(`${clearLine}  ${title.padEnd(42)} ${secondsOf(one).padStart(8)}  ${note}\n`);
  }
}

/**
 * Runs a command with its output in build/logs/`log`.log, and returns {code, output}. With `check` a failure throws.
 * With `yields` the command runs at low priority.
 */
function run(log, command, args, { env = {}, check = true, yields = false } = {}) {
  fs.mkdirSync(logs, { recursive: true });
  const file = path.join(logs, `${log}.log`);
  const fd = fs.openSync(file, "w");
  fs.writeSync(fd, `$ ${command} ${args.join(" ")}\n`);
  return new Promise((resolve, reject) => {
    const all = { ...process.env, CMAKE_BUILD_PARALLEL_LEVEL: String(cores), ...env };
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", fd, fd], env: all });
    if (yields && child.pid) os.setPriority(child.pid, os.constants.priority.PRIORITY_BELOW_NORMAL);
    child.on("error", (error) => reject(new Failure(`cannot run ${command}: ${error.message}`)));
    child.on("close", (code) => {
      fs.closeSync(fd);
      const output = fs.readFileSync(file, "utf8");
      if (code === 0 || !check) return resolve({ code, output });
      const tail = output.trimEnd().split("\n").slice(-30).join("\n");
      reject(new Failure(`${tail}\n\n${command} ${args.join(" ")} failed; the whole of it: ${path.relative(root, file)}`));
    });
  });
}

/** The output of a short command, or null when the command does not exist or fails. */
function ask(command, ...args) {
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
  return result.status === 0 ? result.stdout.trim() : null;
}

const versionOf = (text) => ((text || "").match(/\d+(\.\d+)+/) || ["0"])[0];
const isAtLeast = (version, minimum) => version.localeCompare(minimum, "en", { numeric: true }) >= 0;

const hash = (...texts) => crypto.createHash("sha256").update(texts.join("\0")).digest("hex");

/** A hash of every file in the given files and folders. A missing one counts as empty. */
function hashOf(...names) {
  const sum = crypto.createHash("sha256");
  const add = (name) => {
    const stat = fs.statSync(at(name), { throwIfNoEntry: false });
    if (stat && stat.isDirectory()) {
      for (const entry of fs.readdirSync(at(name)).sort()) if (entry !== "node_modules") add(path.join(name, entry));
    } else if (stat) {
      sum.update(`${name}\0${stat.size}\0`).update(fs.readFileSync(at(name)));
    }
  };
  names.forEach(add);
  return sum.digest("hex");
}

const read = (...parts) => (fs.existsSync(at(...parts)) ? fs.readFileSync(at(...parts), "utf8").trim() : "");

// ------------------------------------------------------------------------------------------------------------- set-up

function checkNode() {
  const version = process.versions.node;
  if (!isAtLeast(version, "20.19")) {
    throw new Failure(`Node 20.19 or newer is needed, and this is ${version}: install it from https://nodejs.org.`);
  }
  if (!ask("npm", "--version")) throw new Failure("npm is missing: install it beside node (on Debian: apt-get install npm).");
}

/** The Debian packages that `goal` needs and this machine lacks. A tool that is on PATH needs no package. */
function missingPackages(goal, ownEmscripten) {
  if (goal === "train") return notInstalled(trainingPackages);
  const without = (command, name) => (ask(command, "--version") ? [] : [name]);
  const wanted = without("cmake", "cmake");
  if (isRoot || !ask("make", "--version")) wanted.push(...without("ninja", "ninja-build"));  // make would also work, but is slower
  if (ownEmscripten) wanted.push("clang-19", "lld-19", "llvm-19", "python3", "xz-utils");
  if (goal === "test") {
    wanted.push(...without(process.env.CXX || "c++", "g++"), "libpng-dev", "libbenchmark-dev", "libcli11-dev",
      "libpcre2-dev", "libutf8proc-dev");
    wanted.push("opencl-headers", "ocl-icd-opencl-dev", "pocl-opencl-icd");  // PoCL makes the processor an OpenCL device
    wanted.push("oclgrind");
    wanted.push("librsvg2-bin", "python3-numpy");  // the program's pictures are drawn, and it reads NumPy's own files
    wanted.push("python3-notebook");  // 18 MB, installed within 20 s, so that its stage is part of every whole run
    wanted.push("clang-format-19", "clang-19", "libclang-rt-19-dev", "chromium", "chromium-headless-shell", "firefox-esr",
      "fonts-dejavu-core");
    wanted.push("openssl");  // makes the certificate of a server that stands for another
  }
  return notInstalled(wanted);
}

/** The Debian packages of training. Without OpenBLAS, PyTorch takes ten times as long. */
const trainingPackages = ["python3-torch", "python3-regex", "python3-numpy", "python3-pil", "libopenblas0-openmp", "fonts-dejavu-core"];

function notInstalled(wanted) {
  // dpkg-query fails when it does not know one of the names, but still lists the others.
  const format = "${Package} ${db:Status-Status}\\n";
  const known = spawnSync("dpkg-query", ["-W", "-f", format, ...wanted], { encoding: "utf8" });
  const lines = (known.stdout || "").split("\n");
  return [...new Set(wanted)].filter((name) => !lines.includes(`${name} installed`));
}

async function installPackages(goal, ownEmscripten) {
  if (!ask("apt-get", "--version")) return;  // on systems other than Debian, the checks and CMake report what is missing
  const missing = missingPackages(goal, ownEmscripten);
  if (missing.length === 0) return;
  if (!isRoot) throw new Failure(`Debian packages are missing: sudo apt-get install ${missing.join(" ")}`);
  const options = ["-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];
  const install = (check) => run("apt", "apt-get", [...options, "--no-install-recommends", "install", ...missing],
    { check, env: { DEBIAN_FRONTEND: "noninteractive" } });
  await step(`Debian packages: ${missing.join(" ")}`, async () => {
    // Outdated package lists know no candidate, or one that the mirror no longer has.
    if ((await install(false)).code === 0) return;
    await run("apt-update", "apt-get", [...options, "update"]);
    await install(true);
  });
}

function checkTools(goal) {
  const cmake = versionOf(ask("cmake", "--version"));
  if (!isAtLeast(cmake, "3.24")) {
    const found = cmake === "0" ? "there is none" : `this is ${cmake}`;
    throw new Failure(`CMake 3.24 or newer is needed, and ${found}: install it from https://cmake.org.`);
  }
  const compiler = process.env.CXX || "c++";
  if (goal === "test" && !ask(compiler, "--version")) {
    throw new Failure(`A C++20 compiler is needed, and there is no ${compiler}: install g++ or clang, or name yours in CXX.`);
  }
}

/**
 * The {root, version} of the Emscripten that CMake would use, or null. wasm/toolchain/find-emscripten.cmake decides.
 */
function findEmscripten() {
  const [folder, version] = (ask("cmake", "-P", at("wasm/toolchain/find-emscripten.cmake")) || "").split("\t");
  return folder ? { root: folder, version, own: folder.startsWith(at(".toolchain")) } : null;
}

const recipe = "wasm/toolchain/from-debian.sh";

/** Makes .toolchain/`folder` with the recipe, unless it was made with exactly this recipe. */
async function fromDebian(title, what, folder) {
  if (read(".toolchain", folder, "stamp") === hash(fs.readFileSync(at(recipe), "utf8"))) return;
  await step(title, () => run(what, "bash", [at(recipe), what]).then(() => `.toolchain/${folder}`));
}

async function installNodeModules() {
  const stamp = "node_modules/.headlens-stamp";
  const now = hash(read("package-lock.json"), process.versions.modules);
  if (read(stamp) === now) return;
  await step("npm packages", async () => {
    await run("npm-ci", "npm", ["ci"]);
    fs.writeFileSync(at(stamp), now);
  });
}

/** Sets up everything that a build for `goal` needs. Returns the Emscripten to use. */
async function setUp(goal) {
  checkNode();
  // Nothing can be looked for before CMake is there. The needs of our own Emscripten are then found in a second round.
  let emscripten = findEmscripten();
  await installPackages(goal, !emscripten || emscripten.own);
  checkTools(goal);
  const onDebian = Boolean(ask("apt-get", "--version")) && /^ID(_LIKE)?=.*debian/m.test(fs.readFileSync("/etc/os-release", "utf8"));
  await installNodeModules();
  if (onDebian) await fromDebian("library sources", "sources", "src");
  emscripten = findEmscripten();
  if (!emscripten || emscripten.own) {
    if (!onDebian) {
      throw new Failure("Emscripten 3.1.69 or newer is needed: install it as https://emscripten.org says, and set EMSDK.");
    }
    await fromDebian("Emscripten 3.1.69", "emscripten", "emscripten");
    emscripten = findEmscripten();
  }
  return emscripten;
}

// -------------------------------------------------------------------------------------------------------------- build

/**
 * Configures and builds one CMake preset. The first configuration, or another compiler, starts with an empty folder.
 */
async function buildPreset(preset, { compiler, cxx, werror, targets = [] }) {
  const stamp = at("build", preset, ".headlens-stamp");
  const [compilerBefore, settingsBefore] = (fs.existsSync(stamp) ? fs.readFileSync(stamp, "utf8") : "").split("\n");
  const settings = hash(read("CMakePresets.json"), String(werror));
  if (compilerBefore !== compiler || (werror !== undefined && settingsBefore !== settings)) {
    const args = ["--preset", preset];
    if (compilerBefore !== compiler) args.push("--fresh");
    if (werror !== undefined) args.push(`-DHEADLENS_WERROR=${werror ? "ON" : "OFF"}`);
    // A folder that was configured before keeps its generator, unless it starts empty again.
    const isNew = args.includes("--fresh") || !fs.existsSync(at("build", preset, "CMakeCache.txt"));
    const ninja = isNew && ask("ninja", "--version") ? { CMAKE_GENERATOR: "Ninja" } : {};
    await run(`${preset}-configure`, "cmake", args, { yields: true, env: { ...ninja, ...(cxx ? { CXX: cxx } : {}) } });
    fs.writeFileSync(stamp, `${compiler}\n${settings}\n`);
  }
  const args = ["--build", "--preset", preset];
  if (targets.length) args.push("--target", ...targets);
  const { output } = await run(`${preset}-build`, "cmake", args, { yields: true });
  return /Building|Linking/.test(output) ? "" : "up to date";
}

/** Builds both modules, or all with `targets` empty. Warnings are errors with the pinned compiler, and where `isTest`. */
async function buildWasm(emscripten, isTest, what = "wasm", targets = ["headlens_wasm"]) {
  await step(`build ${what} with Emscripten ${emscripten.version}`, () => buildPreset("wasm", {
    compiler: `${emscripten.root} ${emscripten.version}`,
    werror: emscripten.own || isTest ? true : undefined,
    targets,
  }));
}

async function buildNative(preset, targets, cxx = process.env.CXX || "c++") {
  const compiler = `${cxx} ${versionOf(ask(cxx, "--version"))}`;
  await step(`build ${preset} with ${compiler}`, () => buildPreset(preset, { compiler, cxx, werror: true, targets }));
}

/** Fills dist/, unless it was made from the same files. */
async function buildPackage() {
  const inputs = ["wasm/build.mjs", "wasm/src", "wasm/tsconfig.json", "web", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];
  const modules = ["simd", "relaxed"].map((simd) => ["mjs", "wasm"].map((type) => `build/wasm/headlens-${simd}.${type}`));
  const stamp = at("build", "dist.stamp");
  await step("build dist: package and playground", async () => {
    const now = hashOf(...inputs, ...[].concat(...modules));
    if (fs.existsSync(at("dist/index.js")) && read("build/dist.stamp") === now) return "up to date";
    await run("dist", process.execPath, [at("web/build.mjs")], { yields: true });
    fs.writeFileSync(stamp, now);
  });
}

// -------------------------------------------------------------------------------------------------------------- serve

/** PORT, or 5173 when it is empty or not set. 0 means any free port. */
function chosenPort() {
  const text = process.env.PORT || "5173";
  if (/^\d{1,5}$/.test(text) && Number(text) < 65536) return Number(text);
  throw new Failure(`PORT is ${JSON.stringify(text)}, expected a whole number from 1 to 65535, or 0 for any port that is free: PORT=8080 npm start`);
}

async function serve(port) {
  const { preview } = await import("vite");
  try {
    const { httpServer } = await preview({ configFile: at("vite.config.ts"), logLevel: "error", preview: { port } });
    console.log(`\n${bold(`headlens is at http://localhost:${httpServer.address().port}`)}   (Ctrl-C ends)`);
  } catch (error) {
    if (!/in use/.test(error.message)) throw error;
    throw new Failure(`port ${port} is in use: choose another with PORT=… npm start`);
  }
}

// --------------------------------------------------------------------------------------------------------------- test

const counts = (passed, failed, skipped = 0) => ({ passed, failed, skipped });
const sum = (a, b) => ({
  ...counts(a.passed + b.passed, a.failed + b.failed, a.skipped + b.skipped), output: `${a.output}\n${b.output}`,
});

/** A command that passes or fails as a whole. */
async function whole(log, command, args) {
  const { code, output } = await run(log, command, args, { check: false });
  return { ...counts(code === 0 ? 1 : 0, code === 0 ? 0 : 1), output };
}

/** Counts doctest's cases in the output of its programs. */
function countCases(output) {
  const total = counts(0, 0);
  for (const [, passed, failed] of output.matchAll(/test cases: .*\| +(\d+) passed \| +(\d+) failed/g)) {
    total.passed += Number(passed);
    total.failed += Number(failed);
  }
  return total;
}

/** Runs ctest in one preset. Every case of doctest counts, and every other test. */
async function ctest(preset, ...selection) {
  const args = ["--preset", preset, "--parallel", String(cores), ...selection];
  const { code, output } = await run(`${preset}-ctest`, "ctest", args, { check: false });
  const all = read("build", preset, "Testing/Temporary/LastTest.log");  // ctest's own output leaves out tests that pass
  const total = countCases(all);
  total.passed += [...output.matchAll(/Test +#\d+: (?!core[ .]).* Passed/g)].length;
  if (code !== 0 && total.failed === 0) total.failed = 1;
  return { ...total, output };
}

/**
 * Runs the C++ cases that `filter` selects on Oclgrind's simulated device, and returns its reports on their kernels.
 */
async function onOclgrind(log, filter, device = []) {
  const report = path.join("build", "logs", `${log}-report.log`);
  fs.rmSync(at(report), { force: true });
  const { code, output } = await run(log, "oclgrind", [
    "--data-races", "--uninitialized", "--check-api", "--max-errors", "20", "--num-threads", "1", ...device,
    "--build-options", "-cl-opt-disable",  // reports then name lines, and loads are those of the source
    "--log", at(report), at("build/native/headlens_tests"), "--no-colors", "--no-skip", `--test-case=${filter}`,
  ], { check: false, env: { XDG_CACHE_HOME: at("build/oclgrind"), HEADLENS_OPENCL_DEVICE: "" } });
  const total = countCases(output);
  if (total.passed === 0 || (code !== 0 && total.failed === 0)) total.failed += 1;
  return { ...total, output, report: read(report) };
}

/**
 * Runs every kernel under Oclgrind, as on a GPU and as on a small device, and three kernels with faults that it must
 * report.
 */
async function oclgrind() {
  const total = { ...counts(0, 0), output: "" };
  const add = (passed, failed, output) => {
    total.passed += passed;
    total.failed += failed;
    if (failed) total.output += `${output.trimEnd()}\n`;
  };
  const devices = {
    gpu: ["--max-wgsize", "256", "--compute-units", "2"],  // two, for which a product of two large tiles is worthwhile
    small: ["--max-wgsize", "32", "--local-mem-size", "16384"],
  };
  for (const [name, device] of Object.entries(devices)) {
    const { passed, failed, output, report } = await onOclgrind(`oclgrind-${name}`, "OpenCL kernels: *", device);
    add(passed, failed + (report ? 1 : 0), `${output}\n${report}`);
  }
  const wrong = { race: /data race/, "out of bounds": /Invalid read/, uninitialised: /Uninitialized value/ };
  for (const [kernel, expected] of Object.entries(wrong)) {
    const { output, report } = await onOclgrind("oclgrind-wrong", `OpenCL wrong kernels: ${kernel}`);
    const found = expected.test(report);
    add(found ? 1 : 0, found ? 0 : 1, `${output}\nOclgrind does not report the wrong kernel "${kernel}"`);
  }
  return total;
}

/** The name of the Clang that has the sanitizers' libraries, with or without a number. */
const clang = () => (ask("clang++-19", "--version") ? "clang++-19" : "clang++");

/** Runs the program under the sanitizers: it must start, compute, and refuse a file that is not a case. */
async function sanitizedProgram() {
  const total = { ...counts(0, 0), output: "" };
  const expected = [
    [0, ["info"]],
    [0, ["attend", "tests/golden/cases/composed_llama_block.safetensors", "--threads", "2", "--out", "/dev/null"]],
    [0, ["tokens", "--model", "web/models/tiny", "--text", "The cat sat."]],
    [0, ["map", "--model", "web/models/tiny", "--text", "The cat sat.", "--out", "build/logs/maps.html"]],
    [2, ["attend", "package.json", "--out", "/dev/null"]],
  ];
  for (const [status, args] of expected) {
    const { code, output } = await run("native-debug-program", at("build/native-debug/headlens"), args, { check: false });
    total[code === status ? "passed" : "failed"] += 1;
    if (code !== status) total.output += output;
  }
  return total;
}

/** Runs the tests that `selection` leaves of Vitest's, with a report and an output named `log`. */
async function vitest(log, ...selection) {
  const report = at("build/logs", `${log}.json`);
  fs.rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const workers = `--maxWorkers=${Math.max(1, cores - 1)}`;
  const { code, output } = await run(log, "npm", ["run", "--silent", "test:js", "--", workers, ...reporters, ...selection], { check: false });
  const json = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, "utf8")) : {};
  const skipped = (json.numPendingTests || 0) + (json.numTodoTests || 0);
  const total = counts(json.numPassedTests || 0, json.numFailedTests || 0, skipped);
  if (code !== 0 && total.failed === 0) total.failed = 1;
  return { ...total, output };
}

/** The project's own C++ sources. */
function sources(folder) {
  const entries = fs.readdirSync(at(folder), { withFileTypes: true }).filter(({ name }) => name !== "node_modules");
  return [].concat(...entries.map((entry) => {
    const name = path.join(folder, entry.name);
    return entry.isDirectory() ? sources(name) : /\.(cc|h)$/.test(name) ? [name] : [];
  }));
}

/** The formatter and its arguments. Its version is pinned, since each version formats a little differently. */
function clangFormat(...mode) {
  const command = ask("clang-format-19", "--version") ? "clang-format-19" : "clang-format";
  return [command, [...mode, ...[].concat(...["core", "wasm", "native", "tests"].map(sources))]];
}

/**
 * The builds that the tests need, in their order: the names of those that come before, and the work. A build on a single
 * core does not hold up those that come next.
 */
function builds(emscripten) {
  return {
    wasm: { after: [], build: () => buildWasm(emscripten, true) },
    dist: { after: ["wasm"], single: true, build: buildPackage },
    "wasm tests": { after: ["wasm"], build: () => buildWasm(emscripten, true, "wasm tests", []) },
    native: { after: [], build: () => buildNative("native", []) },
    "native-debug": { after: [], build: () => buildNative("native-debug", ["headlens", "headlens_tests"], clang()) },
  };
}

/**
 * The stages of `npm test` by name: the builds that each needs, the number of cores that it uses, and the work. They
 * start in this order, as soon as their builds are done; stages on one core run beside the builds of others.
 */
function stages(quick) {
  const one = (needs, work) => ({ needs, cores: 1, test: work });
  const all = (needs, work) => ({ needs, cores, test: work });
  const still = {
    format: one([], () => whole("format", ...clangFormat("--dry-run", "--Werror"))),
    types: one([], () => whole("types", "npm", ["run", "--silent", "test:types"])),
    lint: one([], () => whole("lint", "npm", ["run", "--silent", "test:lint"])),
  };
  if (quick) {
    return {
      ...still,
      js: one(["wasm", "dist"], () => vitest("js", "--project=wasm")),
      native: one(["native"], () => ctest("native", "-L", "quick", "--parallel", "1")),
      program: one(["native", "dist"], () => vitest("program", "--project=native", "--exclude=**/{bench,written}.test.ts")),
    };
  }
  return {
    ...still,
    wasm: one(["wasm tests"], () => ctest("wasm", "--parallel", "1")),  // beside js, which begins before and takes longest
    js: one(["wasm", "dist"], () => vitest("js", "--project=wasm", "--project=web", "--project=package")),
    native: one(["native"], () => ctest("native", "--parallel", "1")),  // beside js, which takes longer
    program: one(["native", "dist"], () => vitest("program", "--project=native")),
    notebook: one(["wasm", "dist"], () => vitest("notebook", "--project=notebook")),
    oclgrind: one(["native"], oclgrind),
    "native-debug": all(["native-debug"], async () => sum(await ctest("native-debug"), await sanitizedProgram())),
  };
}

/** Starts these builds, and those that they need, one after the other, and returns a promise for each. */
function startBuilds(all, names) {
  const started = {};
  for (const [name, { after }] of Object.entries(all).reverse()) {
    if (names.has(name)) after.forEach((other) => names.add(other));
  }
  let before = Promise.resolve();
  for (const [name, { after, single, build }] of Object.entries(all)) {
    if (!names.has(name)) continue;
    const ready = [...after.map((other) => started[other]), before.catch(() => {})];
    const done = started[name] = Promise.all(ready).then(build);
    done.catch(() => {});  // stages that wait for it get the error
    if (!single) before = done;
  }
  return started;
}

/** Lends cores to stages, in the order in which they ask. */
function lend(free) {
  const waiting = [];
  const serve = () => {
    while (waiting.length && waiting[0].wanted <= free) {
      free -= waiting[0].wanted;
      waiting.shift().go();
    }
  };
  return {
    take: (wanted) => new Promise((go) => serve(waiting.push({ wanted, go }))),
    give: (back) => serve(free += back),
  };
}

/**
 * Runs one stage and returns its result. A failed build counts as a failed test, so that the other stages still run.
 */
async function runStage(name, stage, built, lent) {
  let result;
  try {
    await Promise.all(stage.needs.map((build) => built[build]));
    await lent.take(stage.cores);
    await step(`test ${name}`, async () => {
      result = await stage.test();
      return `${result.passed} passed${result.failed ? `, ${bold(`${result.failed} FAILED`)}` : ""}`;
    }).finally(() => lent.give(stage.cores));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    result = { ...counts(0, 1), output: error.message };
  }
  if (result.failed) console.log(`${clearLine}\n${result.output.trimEnd()}\n`);
  return result;
}

async function test(args) {
  const quick = args.includes("--quick");
  const names = args.filter((arg) => arg !== "--quick");
  const emscripten = await setUp("test");
  const all = stages(quick);
  const unknown = names.filter((name) => !all[name]);
  if (unknown.length) throw new Failure(`no stage ${unknown.join(", ")}: there are ${Object.keys(all).join(", ")}`);
  const chosen = Object.entries(all).filter(([name]) => names.length === 0 || names.includes(name));
  const built = startBuilds(builds(emscripten), new Set(chosen.flatMap(([, { needs }]) => needs)));
  const lent = lend(cores);
  const results = await Promise.all(chosen.map(([name, stage]) => runStage(name, stage, built, lent)));
  const total = results.reduce(sum);
  console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ""}`);
  if (total.failed || !total.passed) process.exitCode = 1;
}

// -------------------------------------------------------------------------------------------------------------- train

/** Runs the training with Debian's Python, since the models are made with its PyTorch. */
async function train(args) {
  checkNode();
  await installPackages("train", false);
  const python = "/usr/bin/python3";
  if (ask(python, "-c", "import numpy, PIL, regex, torch") === null) {
    throw new Failure(`${python} with PyTorch, NumPy, regex and Pillow is needed: on Debian, the packages ${trainingPackages.join(" ")}`);
  }
  // Threads that spin while they wait make a busy machine many times slower.
  const env = { ...process.env, OMP_WAIT_POLICY: "passive" };
  const child = spawn(python, [at("web/models/train"), ...args], { stdio: "inherit", env });
  os.setPriority(child.pid, os.constants.priority.PRIORITY_BELOW_NORMAL);
  process.exitCode = await new Promise((resolve) => child.on("close", (code) => resolve(code === null ? 1 : code)));
}

// --------------------------------------------------------------------------------------------------------------- main

async function main([goal, ...rest]) {
  if (goal === "serve") return serve(chosenPort());
  if (goal === "test") return test(rest);
  if (goal === "train") return train(rest);
  if (goal === "format") return step("clang-format", () => run("format", ...clangFormat("-i")).then(() => ""));
  if (!["setup", "build", "start"].includes(goal)) {
    throw new Failure("usage: node setup.mjs start | test [--quick] [STAGE…] | build | setup | format | train NAME | serve");
  }
  const port = goal === "start" ? chosenPort() : undefined;  // refuses a wrong port before any work
  const emscripten = await setUp(goal);
  if (goal === "setup") return;
  await buildWasm(emscripten, false);
  await buildPackage();
  if (goal === "start") await serve(port);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`\n${error instanceof Failure ? error.message : error.stack}`);
  process.exitCode = 1;
});
