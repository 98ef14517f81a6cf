// SPDX-License-Identifier: Apache-2.0
import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build/", "dist/", ".toolchain/", "node_modules/", "tests/package/fixtures/**/dist/"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/explicit-function-return-type": ["error", { allowExpressions: true }],
      // `as T` says what is meant where the compiler cannot know; `!` hides it.
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["**/*.mjs", "**/*.js"],
    languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly", setInterval: "readonly", clearInterval: "readonly" } },
  },
  {
    // These run in Node and in pages.
    files: ["tests/bench/*.mjs"],
    languageOptions: {
      globals: {
        performance: "readonly", setTimeout: "readonly", TextEncoder: "readonly", File: "readonly", WebAssembly: "readonly",
      },
    },
  },
  {
    files: ["tests/package/fixtures/**/*.js"],
    languageOptions: { globals: { document: "readonly" } },
  },
  {
    rules: {
      "max-len": ["error", { code: 120, comments: 160, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true }],
      quotes: ["error", "double", { avoidEscape: true, allowTemplateLiterals: true }],
      semi: ["error", "always"],
    },
  },
);
