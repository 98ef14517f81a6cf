// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Nothing from elsewhere, no inline script or style, no eval, and no text that becomes HTML. */
const kPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types default lit-html",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** The built page carries the policy itself, for servers that send no headers. */
const kPolicyInPage: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: kPolicy }, injectTo: "head-prepend" },
  ],
};

/** The script that the page imports when it starts its worker is fetched with the page's own. */
const kPreload: Plugin = {
  name: "preload",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler(_, { bundle, path }) {
      if (path !== "/index.html") return [];
      const scripts = Object.values(bundle ?? {}).filter(({ type }) => type === "chunk");
      const wanted = scripts.filter(({ fileName }) => /\/remote-[^/]*\.js$/.test(fileName));
      const attrs = (fileName: string): Record<string, string | true> => ({ rel: "modulepreload", crossorigin: true, href: `./${fileName}` });
      return wanted.map(({ fileName }) => ({ tag: "link", attrs: attrs(fileName), injectTo: "head" }));
    },
  },
};

/** The benchmark's page is a folder: without the slash its relative addresses would miss. */
const kBenchFolder: Plugin = {
  name: "bench-folder",
  configurePreviewServer({ middlewares }) {
    middlewares.use((request, response, next) => {
      if (!/^\/bench(\?|$)/.test(request.url ?? "")) return next();
      response.writeHead(301, { Location: "/bench/" }).end();
    });
  },
};

/** The page may share memory between threads, as it takes in nothing of others that does not allow it. */
const kIsolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

export default defineConfig({
  root: at("web/playground"),
  base: "./",
  // The page stands on the package as it is shipped: the .wasm files, the worker and the model lie beside it.
  resolve: { alias: [{ find: /^headlens$/, replacement: at("dist/index.js") }] },
  plugins: [kPolicyInPage, kPreload, kBenchFolder],
  worker: { format: "es" },
  build: {
    outDir: at("dist/playground"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: [at("web/playground/index.html"), at("web/playground/bench/index.html")] },
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
