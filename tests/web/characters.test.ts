// SPDX-License-Identifier: Apache-2.0
/** Characters whose bytes are split over tokens are shown as characters, and nothing else is changed. */
import { expect, test } from "vitest";
import { shownTokens } from "../../web/maps/characters.js";

const kCases: [string, string[], string[]][] = [
  ["a character in four tokens", ["a", "⟨F0⟩", "⟨9F⟩", "⟨99⟩", "⟨82⟩", "b"], ["a", "🙂₁", "🙂₂", "🙂₃", "🙂₄", "b"]],
  ["in two tokens, after a space", [" ⟨F0⟩⟨9F⟩", "⟨99⟩⟨82⟩"], [" 🙂₁", "🙂₂"]],
  ["two characters, one after the other", ["⟨C3⟩", "⟨A9⟩", "⟨C3⟩", "⟨A9⟩"], ["é₁", "é₂", "é₁", "é₂"]],
  ["a whole character in one token", ["⟨C3⟩⟨A9⟩"], ["é"]],
  ["bytes that are no character", ["⟨FF⟩", "⟨80⟩", "x"], ["⟨FF⟩", "⟨80⟩", "x"]],
  ["a character that is cut off", ["⟨F0⟩", "⟨9F⟩"], ["⟨F0⟩", "⟨9F⟩"]],
  ["bytes that a space parts", ["⟨C3⟩", " ⟨A9⟩"], ["⟨C3⟩", " ⟨A9⟩"]],
  ["brackets that are text", ["⟨", "F0", "⟩", "⟨x⟩"], ["⟨", "F0", "⟩", "⟨x⟩"]],
];

test.each(kCases)("%s", (_, tokens, shown) => {
  expect(shownTokens(tokens)).toEqual(shown);
});
