// SPDX-License-Identifier: Apache-2.0
/** A short sentence in a batch with a longer one. Padding must not change its results. */
import type { Findings, LessonEngine } from "../numbers.js";
import { compare, count, Draw, given, headRows, layerState, map, matrix, observe, percent, rows, shown, sum } from "../numbers.js";
import { tensor, withLayer } from "../numbers.js";

export interface PaddingOptions {
  short?: readonly string[];
  /** The number of padding positions. */
  padding?: number;
  /** The size of the numbers in the padding. */
  loudness?: number;
  seed?: number;
}

const kWidth = 8;

export async function padding(engine: LessonEngine, options: PaddingOptions = {}): Promise<Findings> {
  const { short = ["the", "cat", "slept"], padding: extra = 2, loudness = 3, seed = 82 } = options;
  const draw = new Draw(seed);
  const [n, length] = [short.length, short.length + extra];
  const tokens = [...short, ...Array<string>(extra).fill("·")].map((token, index) => (index < n ? token : `pad ${index}`));
  const square = (): number[][] => draw.rows(kWidth, kWidth, 1 / Math.sqrt(kWidth));
  const state = layerState(square(), square(), square(), square());
  const [own, long] = [draw.rows(n, kWidth), draw.rows(length, kWidth)];
  // The contents of the padding are arbitrary. They are large here, so that a leak would show.
  const rest = draw.rows(extra, kWidth, loudness);
  const batch = { data: [...long, ...own, ...rest].flat(), shape: [2, length, kWidth] };
  const padded = [...long.map(() => false), ...tokens.map((_, index) => index >= n)];
  const keyPaddingMask = { data: padded, shape: [2, length] };
  const layer = { embedDim: kWidth, numHeads: 1, bias: false, batchFirst: true };
  return withLayer(engine, layer, state, async (mha) => {
    const all = { averageAttnWeights: false };
    const alone = await mha.forward(tensor(own), all);
    const [masked, open] = [await mha.forward(batch, { ...all, keyPaddingMask }), await mha.forward(batch, all)];
    const outputs = ({ output }: typeof masked): number[][] => rows(output).slice(length, length + n);
    const weights = (result: typeof masked): number[][] => headRows(given(result.weights), 1).slice(0, n);
    const leaked = (result: typeof masked): number => Math.max(...weights(result).map((row) => sum(row.slice(n))));
    const kept = compare(outputs(masked).flat(), alone.output.data);
    const spoilt = compare(outputs(open).flat(), alone.output.data);
    return {
      title: "Padding must not be seen",
      matrices: [
        map("alone", short, short, given(alone.weights).data),
        map("padded and masked", short, tokens, weights(masked).flat()),
        map("padded, not masked", short, tokens, weights(open).flat()),
        matrix("output, alone", short, count(kWidth), alone.output.data),
        matrix("output, padded and masked", short, count(kWidth), outputs(masked).flat()),
      ],
      figures: [
        { name: "weight on padding, masked", value: leaked(masked) }, { name: "weight on padding, not masked", value: leaked(open) },
        { name: "outputs moved, masked", value: kept.difference }, { name: "outputs moved, not masked", value: spoilt.difference },
      ],
      observations: [
        observe(
          leaked(masked) === 0 && kept.same,
          `Masked, padding gets exactly no weight, and the sentence comes out as if alone (to within ${shown(kept.difference)}).`,
          `Masked, padding still gets ${percent(leaked(masked))}, and the outputs move by ${shown(kept.difference)}.`,
        ),
        observe(
          !spoilt.same,
          `Not masked, a word gives padding up to ${percent(leaked(open))}, and the outputs move by up to ${shown(spoilt.difference)}.`,
          "Not masked, the outputs are the same: there is no padding.",
        ),
      ],
    };
  });
}
