// SPDX-License-Identifier: Apache-2.0
/** The examples of the C++ interface's README are those that the consumer project builds and runs. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";

test("every C++ example of core/README.md stands in tests/consumer", () => {
  const readme = readFileSync(`${kRoot}core/README.md`, "utf8");
  const source = readFileSync(`${kRoot}tests/consumer/main.cc`, "utf8");
  const examples = [...readme.matchAll(/^```cpp\n([^]*?)^```$/gm)].map(([, code]) => code);
  expect(examples).toHaveLength(3);
  for (const example of examples) expect(source).toContain(example);
});
