// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import type { Plugin } from "vite";
import { kStyled, tightened } from "./web/tight-styles.mjs";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** True for pages that fetch nothing from elsewhere. */
const isAlone = (path: string): boolean => /^\/(bench|learn)\//.test(path);

/**
 * Forbids content from elsewhere, inline scripts and styles, eval, and text that becomes HTML. Explore and its figures for
 * iframes may fetch the models whose addresses a reader gives, and read files that were dropped on them or that an address holds.
 */
const policyOf = (path: string): string => [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  ...(isAlone(path) ? ["connect-src 'self'", "img-src 'self'"] : ["connect-src 'self' https: blob: data:", "img-src 'self' https: blob:"]),
  "require-trusted-types-for 'script'",
  "trusted-types default headlens lit-html",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Puts the policy into the built page, for servers that do not send headers. */
const kPolicyInPage: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: (_, { path }) => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: policyOf(path) }, injectTo: "head-prepend" },
  ],
};

/**
 * All that the first maps are drawn with is one script, since each is compressed by itself. Other pages share it, so that
 * the page's own code, which runs when it is loaded, stays out of it. Lit's further directives come with the views that use them.
 */
const kFirst = [
  {
    name: "page",
    test: new RegExp([
      "rolldown/runtime", "/web/elements/index\\.ts$",
      "/node_modules/(@lit|lit-element|lit(-html)?/(?!.*(directives/|async-directive|directive-helpers)))",
      "/web/views/(map|grid|sentence|next)\\.ts$", "/web/state/address\\.ts$",
    ].join("|")),
  },
  { name: "engine", test: /\/dist\/(index|chunk-[^/]*)\.js$|\/web\/maps\/engine\.ts$/ },
  { name: "names", test: /\/web\/heads\/index\.ts$/ },
];

/** The pages of the book, which web/build.mjs wrote. They are built as if they lay beside those of Explore and Bench. */
const kBookPages = at("build/learn/pages");
const kSite = at("web/playground");
const bookPages = (): string[] =>
  readdirSync(kBookPages, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html")).map((path) => join(kSite, path));

const isOfBook = (id: string): boolean => id.startsWith(join(kSite, "learn/")) && id.endsWith(".html");

const kBook: Plugin = {
  name: "book",
  resolveId: (id) => (isOfBook(id) ? id : undefined),
  load: (id) => (isOfBook(id) ? readFileSync(join(kBookPages, relative(kSite, id)), "utf8") : undefined),
};

const kTightStyles: Plugin = {
  name: "tight-styles",
  apply: "build",
  enforce: "pre",
  transform: (code, id) => (kStyled.test(id) ? tightened(code) : undefined),
};

/**
 * Names in each page all scripts that its own imports, so that they are fetched at once. Vite would also name those of scripts
 * that come later, in a table within the first script.
 */
const kScripts: Plugin = {
  name: "scripts",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_, { path, chunk, bundle = {} }) => {
      const found = new Set<string>();
      const follow = (names: readonly string[]): void => {
        for (const name of names.filter((one) => !found.has(one))) {
          found.add(name);
          const of = bundle[name];
          if (of?.type === "chunk") follow(of.imports);
        }
      };
      follow(chunk?.imports ?? []);
      const up = "../".repeat(path.split("/").length - 2) || "./";
      return [...found].map((name) => ({ tag: "link", attrs: { rel: "modulepreload", crossorigin: true, href: `${up}${name}` }, injectTo: "head" as const }));
    },
  },
};

/** Takes the space from the beginnings of lines. Pages of the book have code, whose lines begin with some. */
const kTightPages: Plugin = {
  name: "tight-pages",
  apply: "build",
  transformIndexHtml: { order: "post", handler: (page, { path }) => (path.startsWith("/learn/") ? page : page.replace(/\n\s+/g, "\n")) },
};

/** Sends the policy of each page, too. The figure for iframes may be framed by anyone. */
const kPolicyInHeaders: Plugin = {
  name: "policy-in-headers",
  configurePreviewServer({ middlewares }) {
    middlewares.use((request, response, next) => {
      const path = request.url ?? "/";
      const isFigure = /^\/embed\.html(\?|$)/.test(path);
      response.setHeader("Content-Security-Policy", `${policyOf(path)}; frame-ancestors ${isFigure ? "*" : "'self'"}`);
      if (isFigure) response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
      next();
    });
  },
};

/** Redirects the address of a folder to the one with a slash, without which the relative addresses of its page would fail. */
const kFolders: Plugin = {
  name: "folders",
  configurePreviewServer({ middlewares }) {
    middlewares.use((request, response, next) => {
      const [folder = ""] = (request.url ?? "/").split("?");
      if (!/^\/(bench|learn(\/[a-z]+)?)$/.test(folder)) return next();
      response.writeHead(301, { Location: `${folder}/` }).end();
    });
  },
};

/** Allows the page to share memory between threads. In return it only accepts content from others that permits it. */
const kIsolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

const kPages = ["index.html", "embed.html", "bench/index.html"].map((page) => join(kSite, page));

/** The mode “book” adds the book to the pages that are there. It is built by itself, since it shares little with them. */
export default defineConfig(({ mode }) => ({
  root: at("web/playground"),
  base: "./",
  appType: "mpa",
  // The page uses the package as it is published, with the .wasm files, the worker and the model next to it.
  resolve: { alias: [{ find: /^headlens$/, replacement: at("dist/index.js") }] },
  plugins: [kBook, kTightStyles, kScripts, kTightPages, kPolicyInPage, kPolicyInHeaders, kFolders],
  worker: { format: "es" },
  build: {
    outDir: at("dist/site"),
    emptyOutDir: mode !== "book",
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false, // kScripts names those that a page needs at first
    rolldownOptions: {
      ...(mode === "book" ? { input: bookPages() } : { input: kPages, output: { codeSplitting: { groups: kFirst } } }),
    },
  },
  server: { strictPort: true, headers: kIsolation },
  preview: {
    strictPort: true,
    headers: {
      ...kIsolation,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    },
  },
}));
