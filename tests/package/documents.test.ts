// SPDX-License-Identifier: Apache-2.0
/** Every link in the Markdown files leads somewhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { kRoot } from "./project.js";

const kFolders = ["", "core", "native", "tests", "wasm", "web"];

/** Every Markdown file of the repository, without those of installed packages. */
const kDocuments = kFolders.flatMap((folder) => {
  const names = readdirSync(join(kRoot, folder), { recursive: folder !== "", encoding: "utf8" });
  return names.filter((name) => name.endsWith(".md") && !name.includes("node_modules")).map((name) => join(folder, name));
});

const withoutCode = (text: string): string => text.replace(/^( *)```[^]*?^\1```$/gm, "").replace(/`[^`]*`/g, "");

/** Targets of links and pictures that lie in the repository. */
function targetsOf(document: string): string[] {
  const text = withoutCode(readFileSync(join(kRoot, document), "utf8"));
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(([, link, attribute]) => link ?? attribute ?? "");
  return targets.filter((target) => !/^https?:/.test(target));
}

/** The names that GitHub gives to a document's headings. */
function anchorsOf(document: string): string[] {
  const headings = readFileSync(join(kRoot, document), "utf8").replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = ""]) => heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-"));
}

test("the documents are found", () => {
  expect(kDocuments).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "core/README.md"]));
});

describe.each(kDocuments)("%s", (document) => {
  test("links to what is there", () => {
    for (const target of targetsOf(document)) {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path);
      expect(existsSync(join(kRoot, file)), `${target}: no such file`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(file), target).toContain(anchor);
    }
  });
});
