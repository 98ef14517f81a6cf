// SPDX-License-Identifier: Apache-2.0
/**
 * The parts of the DOM that classes and templates take when a script is imported. A server that renders pages has none,
 * and importing the elements there does nothing. Every script of the elements sees these names as its own (web/build.mjs).
 */
const globals = globalThis as Partial<typeof globalThis>;

const NoElement = class {} as typeof HTMLElement;
const noDocument = { createTreeWalker: () => ({}) } as unknown as Document;

const element = globals.HTMLElement ?? NoElement;
const page = globals.document ?? noDocument;

export { element as HTMLElement, page as document };
