import { defineConfig } from "vitest/config";

// One project per folder: `vitest run --config tests/vitest.config.ts --project wasm`.
export default defineConfig({
  test: {
    projects: ["wasm", "web", "package", "native"].map((name) => ({
      test: {
        name,
        include: [`tests/${name}/**/*.test.ts`],
        // Browsers are started, tarballs installed and models read.
        testTimeout: 60_000,
        hookTimeout: 120_000,
      },
    })),
  },
});
