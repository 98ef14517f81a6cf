// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Forbids content from elsewhere, inline scripts and styles, eval, and text that becomes HTML. */
const kPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types default headlens lit-html",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Puts the policy into the built page, for servers that do not send headers. */
const kPolicyInPage: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: kPolicy }, injectTo: "head-prepend" },
  ],
};

/** The start of the engine stands in scripts of its own, which run before the elements are defined. */
const kStart = [
  { name: "start", test: /\/web\/playground\/start\.ts$/ },
  { name: "engine", test: /\/dist\/(index|chunk-[^/]*)\.js$|\/web\/maps\/engine\.ts$/ },
];

/** The figure for iframes may be framed by anyone. */
const kEmbed: Plugin = {
  name: "embed",
  configurePreviewServer({ middlewares }) {
    middlewares.use((request, response, next) => {
      if (!/^\/embed\.html(\?|$)/.test(request.url ?? "")) return next();
      const set = response.setHeader.bind(response);
      response.setHeader = (name, value) => set(name, name === "Content-Security-Policy" ? `${kPolicy}; frame-ancestors *` : value);
      set("Cross-Origin-Resource-Policy", "cross-origin");
      next();
    });
  },
};

/**
 * Redirects the address of the benchmark's page to the one with a slash, without which its relative addresses would
 * fail.
 */
const kBenchFolder: Plugin = {
  name: "bench-folder",
  configurePreviewServer({ middlewares }) {
    middlewares.use((request, response, next) => {
      if (!/^\/bench(\?|$)/.test(request.url ?? "")) return next();
      response.writeHead(301, { Location: "/bench/" }).end();
    });
  },
};

/** Allows the page to share memory between threads. In return it only accepts content from others that permits it. */
const kIsolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

export default defineConfig({
  root: at("web/playground"),
  base: "./",
  // The page uses the package as it is published, with the .wasm files, the worker and the model next to it.
  resolve: { alias: [{ find: /^headlens$/, replacement: at("dist/index.js") }] },
  plugins: [kPolicyInPage, kEmbed, kBenchFolder],
  worker: { format: "es" },
  build: {
    outDir: at("dist/playground"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { codeSplitting: { groups: kStart } },
      input: [at("web/playground/index.html"), at("web/playground/embed.html"), at("web/playground/bench/index.html")],
    },
  },
  server: { strictPort: true, headers: kIsolation },
  preview: {
    strictPort: true,
    headers: {
      ...kIsolation,
      "Content-Security-Policy": `${kPolicy}; frame-ancestors 'self'`,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    },
  },
});
