// SPDX-License-Identifier: Apache-2.0
import type { AsyncModelAttention, Image, ModelAttention } from "headlens";
import { count, given, map, observe, percent, sum, type LessonEngine } from "../../../experiments/numbers.js";
import { builtIn } from "../../../models.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { pixelsOf } from "../pixels.js";
import { kMoon } from "./moon.js";

const [kSide, kPatch, kAcross] = [48, 6, 8];

const kPicture: Image = ((): Image => {
  const bytes = atob(kMoon);
  const data = Uint8ClampedArray.from({ length: kSide * kSide * 4 }, (_, index) =>
    index % 4 === 3 ? 255 : bytes.charCodeAt(Math.floor(index / 4) * 3 + (index % 4)));
  return { data, width: kSide, height: kSide };
})();

const kPixels = pixelsOf(kPicture, 2);

/** The moon is the only thing in the picture that is purple: more blue than green, and no pure blue. */
const isMoon = (pixel: number): boolean => {
  const [red = 0, green = 0, blue = 0] = kPicture.data.subarray(pixel * 4, pixel * 4 + 3);
  return blue > 1.5 * green && red > 1.2 * green;
};

/** True for each patch of which the moon covers at least half. */
const kOnMoon = count(kAcross ** 2).map((_, patch) => {
  const [top, left] = [Math.floor(patch / kAcross) * kPatch, (patch % kAcross) * kPatch];
  const pixels = count(kPatch ** 2).map((__, index) =>
    (top + Math.floor(index / kPatch)) * kSide + left + (index % kPatch));
  return pixels.filter(isMoon).length * 2 >= pixels.length;
});

type Seen = ModelAttention | AsyncModelAttention;
const kSeen = new WeakMap<LessonEngine, Promise<Seen>>();

/** The model looks at the picture once for each engine. */
function look(engine: LessonEngine): Promise<Seen> {
  const seen = kSeen.get(engine) ?? builtIn(engine, "tiny-vit").then<Seen>((model) => model.attend(kPicture));
  kSeen.set(engine, seen);
  seen.catch(() => kSeen.delete(engine));
  return seen;
}

export default lesson({
  title: "A trained head finds the moon",
  claim: "A model that only learned to name shapes has heads that look at the shape, and others that do not.",
  teaches: ["T3.8"],
  controls: {
    layer: { kind: "slider", label: "layer", min: 0, max: 3, step: 1, value: 1 },
    head: { kind: "slider", label: "head", min: 0, max: 5, step: 1, value: 2 },
    token: { kind: "slider", label: "token that looks (0 is CLS)", min: 0, max: kAcross ** 2, step: 1, value: 0 },
  },
  question: {
    ask: "Where does CLS look in the first layer?",
    answers: ["at the whole picture", "at the shape", "at itself"],
    right: 2,
    because: "Each of the six heads there leaves CLS almost all of its own weight. Set the layer to 0 and try them. From the second layer on, it looks at patches.",
  },
  formula: () => "{weights} = softmax(q · Kᵀ ÷ √d) without CLS’s own; on the moon: Σ of {weights} over its patches",
  async run(engine, { layer, head, token }) {
    const seen = await look(engine);
    const whole = await seen.map(layer, head, { rows: [token, token + 1] });
    const weights = [...whole.data.subarray(1)];
    const share = sum(weights.filter((_, patch) => kOnMoon[patch]));
    const area = kOnMoon.filter(Boolean).length / kOnMoon.length;
    const { labels = [] } = (await builtIn(engine, "tiny-vit")).info;
    const logits = [...(await seen.logits()).data];
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const named = logits.indexOf(largest);
    const looker = token === 0 ? "CLS" : `patch ${given(seen.tokens[token])}`;
    const name = `${looker} looks at, layer ${layer}, head ${head}`;
    const picture = {
      kind: "picture", ...kPixels, across: kAcross, chooses: { control: "token", values: weights.map((_, patch) => patch + 1) },
      ...(token === 0 ? {} : { query: token - 1 }),
    } as const;
    const places = count(kAcross);
    return {
      rows: [
        { items: [{ ...picture, name: "what the model sees" }, "→", { ...picture, name, weights }] },
        { items: [table({ ...map("weights", places, places, weights), digits: 2 })] },
      ],
      says: [
        observe(
          share > area,
          `${percent(share)} of the weight is on patches that are mostly moon, which are ${percent(area)} of the picture.`,
          `Only ${percent(share)} of the weight is on patches that are mostly moon, which are ${percent(area)} of the picture; ${percent(whole.data[0] ?? NaN)} is on CLS.`,
        ),
        observe(labels[named] === "moon", `The model calls it a moon, with a probability of ${percent(given(powers[named]) / sum(powers))}.`, `The model calls it a ${labels[named] ?? ""}.`),
      ],
    };
  },
  explore: ({ layer, head, token }) => ({ model: "tiny-vit", layer, head, query: String(token), view: "picture" }),
  exploreShows: "The same head on another picture",
});
