// SPDX-License-Identifier: Apache-2.0
/**
 * The page's policy under `require-trusted-types-for 'script'`: scripts and workers only from this origin, and no way
 * to turn text into HTML.
 * (Lit has a policy of its own for its templates, which are constants.)
 */
interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };

trustedTypes?.createPolicy("default", {
  createScriptURL(url) {
    if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`${url} is not of this origin`);
    return url;
  },
});
