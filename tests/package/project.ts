// SPDX-License-Identifier: Apache-2.0
/** The packed tarball, installed into an empty project as a user would. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const kRoot = fileURLToPath(new URL("../..", import.meta.url));
const kFixtures = fileURLToPath(new URL("fixtures", import.meta.url));

export interface Project {
  readonly folder: string;
  readonly tarball: string;
  /** The files in the tarball with their sizes. */
  readonly files: ReadonlyMap<string, number>;
  readonly packedSize: number;
  remove(): void;
}

interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** npm without the settings of the run that started the tests. */
function npm(folder: string, ...args: string[]): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  return execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env });
}

/** Packs dist/ and installs it offline, since there is nothing else to fetch. */
export function installPackage(): Project {
  const folder = mkdtempSync(join(tmpdir(), "headlens-package-"));
  const [report] = JSON.parse(
    npm(kRoot, "pack", "--ignore-scripts", "--json", "--pack-destination", folder),
  ) as PackReport[];
  if (!report) throw new Error("npm pack said nothing");
  const tarball = join(folder, report.filename);
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "name": "user", "private": true, "type": "module" }\n');
  npm(project, "install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", tarball);
  // Browsers request an icon by themselves, and a page without one is not at fault.
  mkdirSync(join(project, "public"));
  for (const icon of ["favicon.ico", "public/favicon.ico"]) writeFileSync(join(project, icon), "");
  for (const name of readdirSync(kFixtures)) cpSync(join(kFixtures, name), join(project, name));
  return {
    folder: project,
    tarball,
    files: new Map(report.files.map(({ path, size }) => [path, size])),
    packedSize: report.size,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
