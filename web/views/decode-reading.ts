// SPDX-License-Identifier: Apache-2.0
/** A text that a model reads token by token, with the keys and values of earlier tokens kept, and what it goes on with. */
import type { AsyncDecoding, AsyncModelAttention, Tensor } from "headlens";
import type { Run } from "../maps/run.js";

/** The formats of the cache, each with the bytes of a number. */
export const kFormats = { float32: 4, bfloat16: 2 } as const;
export type Format = keyof typeof kFormats;

/** A token that a model expects next. */
export interface Expected {
  readonly id: number;
  readonly token: string;
  readonly probability: number;
}

/** The result of one step of decoding. */
export interface ReadToken {
  readonly id: number;
  readonly token: string;
  /** The tokens that are kept: [firstKey, length). */
  readonly firstKey: number;
  readonly length: number;
  /** The row that the step added to the head's map. Its columns are the kept tokens, or those of a source. */
  readonly row: Float32Array;
  /** The likeliest next tokens, the likeliest first. */
  readonly expected: readonly Expected[];
  /** The text's next token, and how many tokens were expected more; undefined at the end of the text. */
  readonly came: (Expected & { readonly rank: number }) | undefined;
}

/** The most tokens of a text that are read. */
export const kMostRead = 1024;
const kExpected = 5;
/** The names of tokens that end a text. */
const kEnds = /^(<\/s>|<\|endoftext\|>|<eos>|<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<pad>)$/;

export const isEnd = ({ token }: Pick<Expected, "token">): boolean => kEnds.test(token);

/** The words in which a model says why it is not decoded; undefined when it can be. */
export function refusal({ info, shown }: Run): string | undefined {
  if (info.image) return "This model reads a whole picture at once, so there is nothing to read step by step.";
  if (!info.causal) return "Each token of this model looks at those after it as well, so the text cannot be read step by step.";
  if (info.logits === 0) return "This model has no logits, so it expects no next token.";
  if (shown === "encoder") return "The encoder reads the whole source at once. Choose the decoder’s own attention or the cross-attention.";
  return undefined;
}

/** The names of a model's tokens by id. */
export async function namesOf({ unchanged, info }: Run): Promise<ReadonlyMap<number, string>> {
  const all = await unchanged.predictions({ position: 0, top: info.vocabSize });
  return new Map(all.map(({ id, token }) => [id, token]));
}

/** The probabilities of all tokens. */
function softmax(logits: Float32Array): Float32Array {
  const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
  const powers = logits.map((value) => Math.exp(value - largest));
  const sum = powers.reduce((all, value) => all + value, 0);
  return powers.map((power) => power / sum);
}

/** The places of the largest values, the largest first. */
function largestOf(values: Float32Array, count: number): number[] {
  const best: number[] = [];
  values.forEach((value, index) => {
    if (best.length === count && value <= (values[best[count - 1] ?? 0] ?? 0)) return;
    const after = best.findIndex((other) => value > (values[other] ?? 0));
    best.splice(after < 0 ? best.length : after, 0, index);
    if (best.length > count) best.pop();
  });
  return best;
}

/** The rows of a whole text's map, each of `width` weights. */
export interface WholeMap {
  readonly values: Float32Array;
  readonly width: number;
}

interface NextToken {
  readonly id: number;
  readonly token: string;
  /** The token that the text has after it. */
  readonly next: Pick<Expected, "id" | "token"> | undefined;
}

export class TokenReading {
  readonly tokens: ReadToken[] = [];
  #decoding: AsyncDecoding | undefined;
  readonly #differences: (number | undefined)[] = [];
  #isClosed = false;
  /** The step under way: steps come one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly run: Run,
    private readonly layer: number,
    private readonly head: number,
    readonly format: Format,
    private readonly names: ReadonlyMap<number, string>,
    private whole: WholeMap,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Reads the run's text from its beginning, and calls `onToken` after each token. */
  async readText(onToken: () => void): Promise<void> {
    const { unchanged: { ids, tokens } } = this.run;
    const count = Math.min(ids.length, kMostRead);
    for (let index = 0; index < count && !this.#isClosed; index++) {
      const isLast = index + 1 === ids.length;
      const next = isLast ? undefined : { id: ids[index + 1] ?? 0, token: tokens[index + 1] ?? "" };
      await this.#step({ id: ids[index] ?? 0, token: tokens[index] ?? "", next });
      onToken();
    }
  }

  /** Appends the likeliest next token. */
  async goOn(): Promise<void> {
    const next = this.tokens.at(-1)?.expected[0];
    if (next) await this.#step({ id: next.id, token: next.token, next: undefined });
  }

  #step(token: NextToken): Promise<void> {
    const step = this.#last.then(() => this.#read(token));
    this.#last = step.catch(() => undefined);
    return step;
  }

  async #read({ id, token, next }: NextToken): Promise<void> {
    if (this.#isClosed) return;
    const { run: { model, reading: { source }, info, of, steps }, layer, head, format: dtype } = this;
    this.#decoding ??= await model.startDecoding({ ...steps, dtype, ...(info.encoder && { source }) });
    const { firstKey, length, logits } = await this.#decoding.step([id]);
    const attention = of.attention === "cross" ? { attention: of.attention } : {};
    const { data: row } = await this.#decoding.map(layer, head, attention);
    const probabilities = softmax(logits.data);
    const probabilityOf = (of: number): number => probabilities[of] ?? NaN;
    const expected = largestOf(probabilities, kExpected)
      .map((of) => ({ id: of, token: this.names.get(of) ?? String(of), probability: probabilityOf(of) }));
    const rankOf = (of: number): number =>
      probabilities.reduce((rank, other) => rank + Number(other > probabilityOf(of)), 1);
    const came = next && { ...next, probability: probabilityOf(next.id), rank: rankOf(next.id) };
    this.tokens.push({ id, token, firstKey, length, row, expected, came });
  }

  /** The largest difference of a row from that of a run of the whole text; undefined while no such run is known. */
  difference(step: number): number | undefined {
    const known = this.#differences[step];
    const token = this.tokens[step];
    const { values, width } = this.whole;
    if (known !== undefined || !token || (step + 1) * width > values.length) return known;
    const begin = step * width + (this.run.of.attention === "cross" ? 0 : token.firstKey);
    const apart = (weight: number, index: number): number => Math.abs(weight - (values[begin + index] ?? NaN));
    const difference = token.row.reduce((most, weight, index) => Math.max(most, apart(weight, index)), 0);
    this.#differences[step] = difference;
    return difference;
  }

  /** Runs the model on all tokens at once, those that it went on with as well, and measures the keys and values. */
  async measure(): Promise<Lengths> {
    const { run: { model, info, reading: { source }, of, steps }, layer, head } = this;
    const target = this.tokens.map(({ id }) => id);
    const longer = await model.attend(info.encoder ? { source, target } : target, { ...steps, keepValues: true });
    try {
      const { data, shape: [, width = 0] } = await longer.map(layer, head, of);
      this.whole = { values: data, width };
      return await lengthsIn(longer, info.layers);
    } finally {
      longer.dispose();
    }
  }

  /** Ends the reading, and releases the cache when the step under way is over. */
  close(): void {
    this.#isClosed = true;
    void this.#last.then(() => this.#decoding?.dispose());
  }
}

/** The lengths of the keys and of the values in a cache, [layer · key/value heads + head][token]. */
export interface Lengths {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

/** The rows of the whole text's map, with those of the reader's changes that steps have. */
export async function wholeMapOf(
  run: Run, layer: number, head: number, count: number,
): Promise<Float32Array> {
  const { attention, unchanged, steps, of } = run;
  const rows = { rows: [0, count], ...of } as const;
  if (!hasOtherChanges(run)) return (await attention.map(layer, head, rows)).data;
  const whole = await unchanged.again(steps);
  try {
    return (await whole.map(layer, head, rows)).data;
  } finally {
    whole.dispose();
  }
}

/** Returns true where the reader has made changes that steps do not have. */
export const hasOtherChanges = ({ changes: { zeroToken, forbid } }: Run): boolean =>
  zeroToken.length > 0 || forbid.length > 0;

/** Measures the keys and values of the run, of which the cache of its text is made. */
export async function lengthsOf({ unchanged, info, steps }: Run): Promise<Lengths> {
  const kept = await unchanged.again({ ...steps, keepHidden: info.logits > 0, keepValues: true });
  try {
    return await lengthsIn(kept, info.layers);
  } finally {
    kept.dispose();
  }
}

async function lengthsIn(kept: AsyncModelAttention, layers: number): Promise<Lengths> {
  const all = { keys: [] as Float32Array[], values: [] as Float32Array[] };
  for (let layer = 0; layer < layers; layer++) {
    all.keys.push(...rowLengths(await kept.keys(layer)));
    all.values.push(...rowLengths(await kept.values(layer)));
  }
  return all;
}

/** The lengths of the vectors of a tensor [heads, tokens, d]. */
function rowLengths({ data, shape: [heads = 0, count = 0, width = 0] }: Tensor): Float32Array[] {
  const length = (head: number, token: number): number => {
    const first = (head * count + token) * width;
    return Math.sqrt(data.subarray(first, first + width).reduce((sum, value) => sum + value * value, 0));
  };
  return Array.from({ length: heads }, (_, head) => new Float32Array(count).map((_, token) => length(head, token)));
}

/** Pieces as text. A character's bytes in several pieces, as ⟨E2⟩, are put together. */
export function textOf(pieces: readonly string[]): string {
  const bytes = (run: string): string =>
    new TextDecoder().decode(Uint8Array.from(run.matchAll(/⟨([0-9A-F]{2})⟩/g), ([, byte]) => parseInt(byte ?? "", 16)));
  return pieces.join("").replace(/(?:⟨[0-9A-F]{2}⟩)+/g, bytes);
}
