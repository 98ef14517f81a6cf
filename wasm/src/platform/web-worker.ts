// SPDX-License-Identifier: Apache-2.0
/** Starts the package's scripts as workers, wherever they lie and whatever the page's policy asks for. */
import type { WorkerLink } from "./platform.js";

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

let policy: ReturnType<PolicyFactory["createPolicy"]> | undefined | null = null;

/** Pages with `require-trusted-types-for 'script'` start workers only of addresses that a policy vouches for: `trusted-types headlens`. */
function trusted(url: string): string {
  if (policy === null) {
    try {
      const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };
      policy = trustedTypes?.createPolicy("headlens", { createScriptURL: (own) => own });
    } catch {
      policy = undefined; // the page allows no such policy, and may have one of its own for all addresses
    }
  }
  return policy?.createScriptURL(url) ?? url;
}

/** Starts a worker of this page's own origin from source text. */
export function startSource(source: string, options: WorkerOptions): Worker {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const worker = new Worker(trusted(url), options);
    const forget = (): void => URL.revokeObjectURL(url);
    for (const event of ["message", "error"]) worker.addEventListener(event, forget, { once: true });
    return worker;
  } catch (error) {
    URL.revokeObjectURL(url);
    throw error;
  }
}

/**
 * Starts a worker that runs a script. Workers have to be of the page's own origin, so that a script of another one is imported by a script of
 * this. Developer tools show `name`.
 */
export function startScript(url: URL, name: string): Worker {
  const options = { type: "module", name } as const;
  if (url.origin === location.origin) return new Worker(trusted(url.href), options);
  return startSource(`import ${JSON.stringify(url.href)};`, options);
}

export function linkTo(worker: Worker): WorkerLink {
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    onMessage(listener) {
      worker.addEventListener("message", ({ data }) => listener(data));
    },
    onFailure(listener) {
      worker.addEventListener("error", (event) => listener(event.message || "the script could not be loaded"), { once: true });
    },
    setBusy: () => undefined,
    terminate: () => worker.terminate(),
  };
}
