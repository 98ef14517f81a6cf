// SPDX-License-Identifier: Apache-2.0
import { windowed } from "../../../experiments/long/window.js";
import { count, given, map, observe, percent } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";
import { grouped } from "../sizes.js";

const kTokens = ["we", "left", "the", "old", "town", "by", "night", "train"];

/** A window of the size that Mistral 7B (2023) has, in a long text. */
const [kLong, kWindow] = [131072, 4096];

export default lesson({
  title: "Windows, and how far they reach",
  claim: "With a window, a row has the same few weights however long the text is, and each layer carries what it saw one window further.",
  teaches: ["T3.8"],
  controls: {
    window: { kind: "slider", label: "earlier tokens in the window", min: 0, max: 7, step: 1, value: 2 },
    layers: { kind: "slider", label: "layers", min: 1, max: 4, step: 1, value: 2 },
    global: { kind: "switch", label: "all see the first token", value: false },
  },
  question: {
    ask: "A window of 2 earlier tokens, and three layers. How far back can the last token’s output come from?",
    answers: ["2 tokens", "3 tokens", "6 tokens", "all of them"],
    right: 2,
    because: "Each layer adds another 2. Set the layers to 3 and look at the last row on the right: only the first token is out of reach.",
  },
  formula: () => "{weights, layer after layer} = {weights} · … · {weights}, once for each layer",
  async run(engine, { window, layers, global: isFirstGlobal }) {
    const options = { tokens: kTokens.length, window, layers, isFirstGlobal };
    const { weights, reach } = await windowed(engine, options);
    const cells = weights.flat().filter((weight) => weight > 0).length;
    const most = (kTokens.length * (kTokens.length + 1)) / 2;
    const furthest = kTokens.length - 1 - given(reach.at(-1)).findIndex((part) => part > 0);
    const expected = isFirstGlobal ? kTokens.length - 1 : Math.min(window * layers, kTokens.length - 1);
    const windowCells = kLong * (kWindow + 1) - (kWindow * (kWindow + 1)) / 2;
    const allCells = (kLong * (kLong + 1)) / 2;
    const show = (name: string, rows: number[][]): Table => {
      const parts = rows.flat();
      return table({ ...map(name, kTokens, kTokens, parts), digits: 2 }, { masked: parts.map((part) => part === 0) });
    };
    const throughLayers = layers === 1 ? "through 1 layer" : `through ${layers} layers`;
    return {
      rows: [
        { title: "Weights of one layer", items: [show("weights", weights)] },
        { title: `Where outputs come from, ${throughLayers}`, items: [show("weights, layer after layer", reach)] },
      ],
      says: [
        observe(cells <= most, `${cells} of ${most} cells of the map are computed.`, ""),
        observe(
          furthest === expected,
          furthest === 0 ? "The last token’s output comes from itself alone, through all layers."
          : `Through ${layers === 1 ? "one layer" : `${layers} layers`}, the last token’s output comes from as far back as “${given(kTokens[kTokens.length - 1 - furthest])}”, ${furthest} before it.`,
          `The last token’s output comes from ${furthest} tokens back, where ${expected} were expected.`,
        ),
        observe(windowCells < allCells, `In a text of ${grouped(kLong)} tokens, a window of ${grouped(kWindow)} earlier ones leaves ${percent(windowCells / allCells)} of the cells.`, ""),
      ],
    };
  },
  explore: ({ window }) => ({
    model: "tiny", text: "The queen saw the king and she laughed.", layer: 0, head: 6, query: "9", key: "", view: "flow",
    forbid: count(9, (index) => String(index + 1)).slice(window).join(" "),
  }),
  exploreShows: "Such a window in a trained model",
});
