// SPDX-License-Identifier: Apache-2.0
/** A Jupyter Notebook server with a folder of its own, in which also its settings, keys and signatures are. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Debian's Python, for which setup.mjs installs the server. */
export const kPython = "/usr/bin/python3";

export interface Notebooks {
  /** The address of a notebook of the folder. */
  url(this: void, name: string): string;
  close(this: void): Promise<void>;
}

/** Variables with which Jupyter and its kernels write nothing outside of `folder`. */
export function environmentOf(folder: string): NodeJS.ProcessEnv {
  const own = join(folder, ".own");
  return {
    ...process.env,
    HOME: own,
    IPYTHONDIR: join(own, "ipython"),
    JUPYTER_CONFIG_DIR: join(own, "config"),
    JUPYTER_DATA_DIR: join(own, "data"),
    JUPYTER_RUNTIME_DIR: join(own, "runtime"),
  };
}

/** Ends the server, which ends its kernels. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  const last = setTimeout(() => server.kill("SIGKILL"), 20_000);
  await ended;
  clearTimeout(last);
}

/** Where a server says itself which port and token it has. */
interface Running {
  readonly url: string;
  readonly token: string;
}

function runningIn(runtime: string): Running | undefined {
  const name = readdirSync(runtime).find((file) => /^nbserver-\d+\.json$/.test(file));
  const text = name === undefined ? "" : readFileSync(join(runtime, name), "utf8");
  return text.endsWith("}") ? (JSON.parse(text) as Running) : undefined;
}

/** Starts a server for the notebooks in `folder`, on a free port and with a token that it makes itself. */
export async function startNotebooks(folder: string): Promise<Notebooks> {
  const env = environmentOf(folder);
  const runtime = env.JUPYTER_RUNTIME_DIR ?? "";
  mkdirSync(runtime, { recursive: true });
  const args = ["-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1"];
  const server = spawn(kPython, args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  await once(server, "spawn");
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const deadline = Date.now() + 60_000;
  for (;;) {
    const running = runningIn(runtime);
    if (running)
      return { url: (name) => `${running.url}notebooks/${name}?token=${running.token}`, close: () => end(server) };
    if (server.exitCode !== null || Date.now() > deadline) {
      await end(server);
      throw new Error(`the notebook server did not start; Debian has it in python3-notebook:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
