// SPDX-License-Identifier: Apache-2.0
import { indexesOf } from "../state/lists.js";
import type { State } from "../state/state.js";
import type { Asked } from "./computing.js";
import { kAttentions } from "./run.js";
import { silencedIn } from "./silenced.js";

/** The maps that the state asks for of a model. Throws an Error that names a part of the state which is no such thing. */
export function askedOf(state: Readonly<State>): Asked {
  const { model, text, textPair, source, image, causal, temperature, normalizer } = state;
  const attention = kAttentions.find((name) => name === state.attention);
  if (!attention) throw new Error(`attention: ${JSON.stringify(state.attention)} is not known; ${kAttentions.join(", ")} are`);
  return {
    reading: { model, text, textPair, source, image },
    changes: {
      ablate: silencedIn(state.ablate),
      zeroToken: indexesOf("zero-token", state.zeroToken),
      forbid: indexesOf("forbid", state.forbid),
      causal,
      temperature,
      normalizer,
    },
    attention,
  };
}
