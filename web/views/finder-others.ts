// SPDX-License-Identifier: Apache-2.0
/** The open head on other texts: a small map of each, of which nothing is kept but the picture. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { draw, Looks } from "../maps/canvas.js";
import { modelMaps } from "../maps/model-runs.js";
import type { Changes, Run } from "../maps/run.js";
import type { MapSource, Overview } from "../maps/source.js";
import { linkInWords, strongestLink } from "../maps/words.js";
import type { Host } from "./view.js";

/** So many texts have a map, of so many numbers on a side. */
export const kMostOthers = 6;
const kBlocks = 128;

const kUnchanged: Changes = {
  ablate: [], zeroToken: [], forbid: [], causal: false, temperature: 1, normalizer: "softmax",
};

export interface Other {
  readonly text: string;
  readonly maps: MapSource;
  readonly layer: number;
  readonly overview: Overview;
  /** The strongest link in words. */
  readonly words: string;
}

/** The maps of a head of the unchanged model on these texts, one after the other. `told` is called with each. */
export async function readOthers(
  { reading, info, shown }: Run, texts: readonly string[], [layer, head]: readonly [number, number],
  signal: AbortSignal, told: (others: readonly Other[]) => void,
): Promise<void> {
  const others: Other[] = [];
  for (const text of texts.slice(0, kMostOthers)) {
    const [source = "", target = ""] = info.encoder ? text.split("\t") : ["", text];
    const asked = { reading: { ...reading, text: target, source, textPair: "" }, changes: kUnchanged, attention: shown };
    const { maps, release } = await modelMaps(asked, signal, () => undefined);
    try {
      const [overview] = await maps.overviews(layer, [head, head + 1], [kBlocks, kBlocks]);
      if (!overview) continue;
      const words = linkInWords(maps, await strongestLink(maps, layer, head, overview));
      signal.throwIfAborted();
      others.push({ text, maps, layer, overview, words });
    } finally {
      release();
    }
    told([...others]);
  }
}

const looks = new Looks();

export function othersOf(host: Host, others: readonly Other[], count: number): TemplateResult {
  const { layer, head } = host.state;
  const other = ({ text, maps, layer: of, overview, words }: Other): TemplateResult => {
    const look = looks.of(maps, of, overview, host.scaleChoice, host.colors);
    return html`
      <figure>
        <div class="finder-map" role="img" aria-label=${words}><canvas ${draw(overview.picture, look)}></canvas></div>
        <figcaption title=${text}><bdi>${text}</bdi><span>${words}</span></figcaption>
      </figure>
    `;
  };
  const rest = count > kMostOthers ? html`<p class="finder-note">The first ${kMostOthers} of ${count} texts.</p>` : nothing;
  return html`<section aria-label="Same head, other texts" class="finder-others">
    <p class="finder-title">Head ${layer}.${head} on the other texts</p>
    <div class="finder-maps">${others.map(other)}</div>${rest}
  </section>`;
}

export const othersStyles = css`
  .finder-maps {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(136px, 1fr));
    gap: 12px;
  }
  .finder-others figure {
    min-width: 0;
    margin: 0;
  }
  .finder-map {
    aspect-ratio: 1;
    max-width: 200px;
    background: var(--hatch);
  }
  .finder-others figcaption {
    max-width: 200px;
    font-size: 12px;
    line-height: 16px;
  }
  .finder-others figcaption bdi {
    display: block;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .finder-others figcaption span {
    color: var(--faint);
  }
`;
