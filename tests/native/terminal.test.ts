// SPDX-License-Identifier: Apache-2.0
/** Text from outside cannot affect a terminal or a spreadsheet, and an output that cannot be written is an error. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { writeSafetensors } from "../safetensors.js";
import { headlens, kProgram, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();

/**
 * Control characters of C0 and C1, characters that change the direction of text or are invisible, line ends, and
 * unassigned characters.
 */
const kHostile = [
  "\u0007", "\u001B[31m", "\u007F", "\u0085", "\u009B31m", "\u009D0;title\u009C", "\u061C", "\u200B", "\u200E", "\u200F", "\u2028", "\u2029",
  ..."\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069", "\uFEFF", "\uFFFE", "\u{E0001}", "\u{100000}",
];
/** All unsafe characters except our own line ends. */
const kUnsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

describe("messages", () => {
  test("mark what does not print, in names of files and in what files say", () => {
    for (const hostile of kHostile) {
      const { status, stderr } = headlens(["attend", `nowhere${hostile}here`, "--out", inFolder("x")]);
      expect(status).toBe(2);
      expect(stderr).not.toMatch(kUnsafe);
      expect(stderr).toMatch(/^headlens: nowhere⟨U\+[0-9A-F]{4,6}⟩.*here: No such file or directory\n$/);
    }
    const path = inFolder("case.safetensors");
    writeFileSync(path, writeSafetensors({}, { op: `a${kHostile.join("b")}c` }));
    const { stderr } = headlens(["attend", path, "--out", inFolder("x")]);
    expect(stderr).not.toMatch(kUnsafe);
    expect(stderr).toMatch(/op is /);
    expect(headlens([`--fro${kHostile.join("b")}`]).stderr).not.toMatch(kUnsafe);
  });

  test("mark bytes that are no UTF-8, and leave letters of every script alone", () => {
    const command = String.raw`exec "$0" attend "$(printf 'a\233b\303(\342\202')" --out x`;
    const { stderr } = spawnSync("sh", ["-c", command, kProgram], { encoding: "utf8" });
    expect(stderr).toBe("headlens: a⟨9B⟩b⟨C3⟩(⟨E2⟩⟨82⟩: No such file or directory\n");
    for (const name of ["Köln", "你好", "مرحبا", "नमस्ते", "🐈"]) {
      expect(headlens(["attend", name, "--out", "x"]).stderr).toBe(`headlens: ${name}: No such file or directory\n`);
    }
  });
});

/** A model folder whose tokenizer has these pieces. */
function folderOf(pieces: readonly string[]): string {
  const folder = inFolder("model"), tiny = `${kRoot}web/models/tiny`;
  mkdirSync(folder, { recursive: true });
  for (const name of ["config.json", "model.safetensors"]) writeFileSync(`${folder}/${name}`, readFileSync(`${tiny}/${name}`));
  const added_tokens = pieces.map((content, id) =>
    ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }));
  writeFileSync(`${folder}/tokenizer.json`, JSON.stringify({
    added_tokens, normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null,
    model: { type: "WordLevel", unk_token: "[UNK]", vocab: { "[UNK]": 2000 } },
  }));
  return folder;
}

/** The last cells of a CSV file's lines, without their quotes. */
function lastCells(csv: string): string[] {
  return [...csv.matchAll(/,"((?:[^"]|"")*)"\n/g)].map(([, cell = ""]) => cell.replaceAll('""', '"'));
}

describe("results", () => {
  test("JSON escapes it: the same value, and nothing that a terminal obeys", () => {
    const folder = folderOf(kHostile), text = kHostile.join("");
    const tokens = succeeds(["tokens", "--model", folder, "--text", text]);
    expect(tokens).not.toMatch(kUnsafe);
    expect((JSON.parse(tokens) as { pieces: string[] }).pieces).toEqual(kHostile);
    succeeds(["map", "--model", folder, "--text", text, "--layer", "0", "--head", "0", "--out", inFolder("maps.json")]);
    const maps = readFileSync(inFolder("maps.json"), "utf8");
    expect(maps).not.toMatch(kUnsafe);
    expect((JSON.parse(maps) as { pieces: string[] }).pieces).toEqual(kHostile);
  });

  test("CSV marks it, and no cell of text is a formula; numbers stay numbers", () => {
    const pieces = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''-1", "'quoted'", "a=b", '"=1"', "\u009B31m", "\u202E"];
    const folder = folderOf(pieces);
    succeeds(["map", "--model", folder, "--text", pieces.join(""), "--layer", "0", "--head", "0", "--out", inFolder("maps.csv")]);
    const csv = readFileSync(inFolder("maps.csv"), "utf8");
    // The last query sees every key.
    const keys = lastCells(csv).slice(-pieces.length);
    expect(keys).toEqual(["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "'\n=1", "''=1", "'''-1", "'quoted'", "a=b", '"=1"', "⟨U+009B⟩31m", "⟨U+202E⟩"]);
    expect(keys.slice(0, 12).map((cell) => cell.replace(/^'(?='*[=+\-@\t\r\n])/, ""))).toEqual(pieces.slice(0, 12));
    expect(csv).toMatch(/^0,0,0,0,1,"'=1\+1","'=1\+1"$/m);
  });
});

test.each([
  "--help", "--version", "attend --help", "heads --help", "info", "info --json",
  `tokens --model ${kRoot}web/models/tiny --text a`, `heads --model ${kRoot}web/models/tiny --tokens 5,6,5,6`,
  "bench --filter tutorial/maps --seconds 0.001 --repetitions 1",
])("%s: a standard output that is full is an error", (command) => {
  const full = openSync("/dev/full", "w");
  const { status, stderr } = spawnSync(kProgram, command.split(" "), { stdio: ["ignore", full, "pipe"], encoding: "utf8" });
  closeSync(full);
  expect(stderr).toMatch(/headlens: cannot write to the standard output\n$/);
  expect(status).toBe(1);
});
