// SPDX-License-Identifier: Apache-2.0
/** From an element's inputs to maps: of given arrays, of declared ones, or of a model's run. */
import type { Given } from "../files/given-maps.js";
import type { Computing, Progress } from "../maps/computing.js";
import type { Numbers, Weights } from "../maps/nested.js";
import { type Lease, nextTurn } from "../maps/source.js";
import type { State } from "../state/state.js";
import type { DeclaredMaps } from "./declared.js";

/** Runs that take longer than this, in milliseconds, show how far they are. */
const kPatience = 300;

/** The properties of an element that hold arrays. */
export interface Arrays {
  readonly weights: Weights | undefined;
  readonly queries: Numbers | undefined;
  readonly keys: Numbers | undefined;
  readonly softmaxScale: number | undefined;
  readonly mask: Numbers | undefined;
  readonly tokens: readonly string[] | undefined;
  readonly keyTokens: readonly string[] | undefined;
}

/** An element, as far as its maps are concerned. */
export interface Inputs {
  readonly state: Readonly<State>;
  readonly arrays: Arrays;
  readonly declared: DeclaredMaps;
  readonly computing: Computing | undefined;
}

/** Told how far the opening is. */
export interface Following {
  readonly loading: Progress;
  /** Called with the share of a run that is done, once it has taken some time. */
  running(done: number): void;
  /** Called with a sentence that says how declared maps were understood, before they are drawn. */
  understood(words: string | undefined): void;
}

export const hasArrays = ({ weights, queries, keys }: Arrays): boolean => Boolean(weights ?? queries ?? keys);

export const isGiven = ({ arrays, declared }: Inputs): boolean => hasArrays(arrays) || declared.source.length > 0;

/** True where a model has something to read. */
export const isRead = ({ text, source, image }: Readonly<State>): boolean => text !== "" || source !== "" || image !== "";

/** Everything that the maps depend on, to be compared value by value. */
export function dependencies(inputs: Inputs): readonly unknown[] {
  const { state, arrays, declared } = inputs;
  if (isGiven(inputs)) {
    const { weights, queries, keys, softmaxScale, mask, tokens, keyTokens } = arrays;
    const given = [weights, queries, keys, softmaxScale, mask, tokens, keyTokens, state.causal];
    return hasArrays(arrays) ? given : [...given, ...declared.source];
  }
  const { model, text, textPair, source, image, attention, causal } = state;
  const { ablate, zeroToken, forbid, temperature, normalizer } = state;
  return [model, text, textPair, source, image, attention, causal, ablate, zeroToken, forbid, temperature, normalizer];
}

export async function openMaps(inputs: Inputs, signal: AbortSignal, following: Following): Promise<Lease> {
  following.understood(undefined);
  const { state, arrays, declared } = inputs;
  if (hasArrays(arrays)) return openGiven(inputs, arrays);
  if (declared.source.length > 0) return openGiven(inputs, await readDeclared(inputs, signal, following));
  const computing = expectComputing(inputs.computing, "text");
  await computing.loadModel(state.model, signal, following.loading);
  const began = performance.now();
  return computing.modelMaps(state, signal, (done) => {
    if (!signal.aborted && performance.now() - began > kPatience) following.running(done);
  });
}

/** Reads declared maps, and says how they were understood before they are drawn. */
async function readDeclared({ declared }: Inputs, signal: AbortSignal, following: Following): Promise<Given> {
  const given = await declared.read(signal, following.loading);
  following.understood(given.understood);
  await nextTurn();
  return given;
}

/** Throws an Error that says what this script lacks for `what`, where it computes nothing. */
export function expectComputing(computing: Computing | undefined, what: string): Computing {
  if (computing) return computing;
  throw new Error(`${what}: this script only draws arrays of weights; headlens/element computes`);
}

/** Opens given arrays. What the element has besides, such as tokens, goes before what a file has. */
async function openGiven(inputs: Inputs, { weights, queries, keys, ...given }: Partial<Given>): Promise<Lease> {
  const { mask = given.mask, tokens = given.tokens, keyTokens = given.keyTokens } = inputs.arrays;
  const softmaxScale = inputs.arrays.softmaxScale ?? given.softmaxScale;
  const beside = { mask, tokens, keyTokens, causal: inputs.state.causal || given.causal === true };
  const { known, understood } = given;
  if (weights) {
    const { givenMaps } = await import("../maps/given.js");
    return { ...givenMaps({ weights, known, ...beside }), understood };
  }
  if (!queries || !keys) throw new Error(`${queries ? "keys" : "queries"} is missing: maps are computed from both`);
  const computing = expectComputing(inputs.computing, "queries and keys");
  return { ...(await computing.computedMaps({ queries, keys, softmaxScale, ...beside })), understood };
}
