// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { detectFeatures } from "../wasm/src/start/features.js";

// Node 20 has relaxed SIMD behind a flag, later ones have it without; the tests run both wasm builds.
const execArgv = detectFeatures().relaxedSimd ? [] : ["--experimental-wasm-relaxed-simd"];

// One project per folder: `vitest run --config tests/vitest.config.ts --project wasm`.
export default defineConfig({
  test: {
    projects: ["wasm", "web", "package", "native", "notebook"].map((name) => ({
      // The package's own name is what npm run build made, untouched by the test runner.
      resolve: { alias: { headlens: fileURLToPath(new URL("../dist/node.js", import.meta.url)) } },
      test: {
        name,
        include: [`tests/${name}/**/*.test.ts`],
        execArgv,
        // Files share a process, since each start costs two seconds of processor. The program's tests do not: they start
        // programs by the thousand, which takes longer from a process that has grown.
        isolate: name === "native",
        server: { deps: { external: [/\/dist\//] } },
        // Browsers are started, tarballs installed and models read.
        testTimeout: 120_000,
        hookTimeout: 120_000,
        expect: { poll: { timeout: 30_000 } }, // other tests and builds may use the processor
      },
    })),
  },
});
