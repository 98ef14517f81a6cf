// SPDX-License-Identifier: Apache-2.0
import { map, observe } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { later } from "../../masks/shared.js";
import { kFrench, translated } from "../translate.js";

const kSentences = {
  cat: "the king's cat never sleeps", girl: "i see the small girl", house: "the cat sees a red house",
} as const;

export default lesson({
  title: "Three attentions in one translator",
  claim: "An encoder–decoder attends in three ways: the encoder to all of its sentence, the decoder to what it has written so far, and the decoder to the encoder.",
  teaches: ["T1.3"],
  controls: {
    sentence: { kind: "choice", label: "sentence", options: kSentences, value: "cat" },
    layer: { kind: "slider", label: "layer", min: 0, max: 2, step: 1, value: 1 },
    head: { kind: "slider", label: "head", min: 0, max: 5, step: 1, value: 0 },
  },
  question: {
    ask: "Which of the three maps can have a weight above its diagonal?",
    answers: ["only the encoder’s", "all but the decoder’s own", "all three"],
    right: 1,
    because: "Only the decoder’s own attention has the causal mask: its later words do not exist yet. The English sentence is there as a whole, so every query may see all of it. Try any head.",
  },
  formula: () => "{encoder} = softmax(Q_e · K_eᵀ ÷ √d), {decoder} = softmax(Q_f · K_fᵀ ÷ √d + mask), {cross} = softmax(Q_f · K_eᵀ ÷ √d), with e for English and f for French",
  async run(engine, { sentence, layer, head }) {
    return translated(engine, kSentences[sentence], async (translation) => {
      const { source, target } = translation;
      const maps = {
        encoder: await translation.map("encoder", layer, head),
        decoder: await translation.map("decoder", layer, head),
        cross: await translation.map("cross", layer, head),
      };
      const hidden = later(target.length);
      const triangle = maps.decoder.flat().every((weight, cell) => hidden[cell] !== true || weight === 0);
      const ahead = maps.encoder.some((row, query) => row.some((weight, key) => key > query && weight > 0));
      const small = { digits: 2 };
      return {
        rows: [
          {
            title: "Encoder: English looks at English", about: "Queries, keys and values from one sentence, which is seen whole.",
            items: [table({ ...map("encoder", source, source, maps.encoder.flat()), ...small })],
          },
          {
            title: "Decoder: French looks at French", about: "Self-attention, too, but no word sees what comes after it.",
            items: [table({ ...map("decoder", target, target, maps.decoder.flat()), ...small }, { masked: hidden })],
          },
          {
            title: "Cross: French looks at English", about: "Queries from the decoder, keys and values from the encoder’s result.",
            items: [table({ ...map("cross", target, source, maps.cross.flat()), ...small })],
          },
        ],
        says: [
          observe(ahead, "In the encoder words look ahead as well as back.", "In this head of the encoder no word looks ahead."),
          observe(triangle, "In the decoder’s own attention every weight above the diagonal is exactly 0.", "The decoder looks ahead."),
          observe(true, `The cross-attention’s map has ${target.length} rows, one for each token that the decoder read, and ${source.length} columns, one for each token of the source.`, ""),
        ],
      };
    });
  },
  explore({ sentence, layer, head }) {
    const source = kSentences[sentence];
    return { model: "tiny-translator", source, text: kFrench[source] ?? "", attention: "cross", layer, head, view: "map" };
  },
  exploreShows: "The cross-attention of this head",
});
