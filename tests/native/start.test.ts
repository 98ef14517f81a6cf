// SPDX-License-Identifier: Apache-2.0
/** The environment variable PORT, as `npm start` reads it. */
import { spawn, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";

test.each(["abc", "70000", "-1", "1.5", "1e3", "0x50", " 80", "65536"])("PORT=%s is refused before anything is done", (port) => {
  for (const goal of ["start", "serve"]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [`${kRoot}setup.mjs`, goal], { env: { ...process.env, PORT: port }, encoding: "utf8" });
    expect(stderr).toBe(`\nPORT is "${port}", expected a whole number from 1 to 65535, or 0 for any port that is free: PORT=8080 npm start\n`);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  }
});

/** The printed address, and the page that is served there. */
async function served(port: string): Promise<{ address: string; page: string; error: string }> {
  const child = spawn(process.execPath, [`${kRoot}setup.mjs`, "serve"], { env: { ...process.env, PORT: port } });
  try {
    return await new Promise((resolve, reject) => {
      let error = "";
      child.stderr.on("data", (data: Buffer) => { error += data.toString(); });
      child.stdout.on("data", (data: Buffer) => {
        const [address] = /http:\/\/localhost:\d+/.exec(data.toString()) ?? [];
        if (!address) return;
        const page = fetch(address).then((response) => response.text());
        page.then((text) => { resolve({ address, page: text, error }); }, reject);
      });
      child.on("close", () => { resolve({ address: "", page: "", error }); });
    });
  } finally {
    child.kill();
  }
}

test("PORT=0 is a port that is free, and the address says which", async () => {
  const { address, page } = await served("0");
  expect(address).toMatch(/:[1-9]\d*$/);
  expect(address).not.toBe("http://localhost:5173");
  expect(page).toMatch(/<title>/);
});

test("PORT= is as if there were none", async () => {
  const { address, error } = await served("");  // unless another program uses that port
  if (address) expect(address).toBe("http://localhost:5173");
  else expect(error).toMatch(/port 5173 is in use: choose another with PORT=/);
});
