// SPDX-License-Identifier: Apache-2.0
/**
 * Compares contestants, in Node and in pages. The results of every contestant are checked first. Then come rounds, in
 * each of which all contestants of a row take a turn, so that other work of the machine affects them all. A ratio is
 * the median of the rounds' ratios.
 */
import { graphsFor, peer as makePeer, warmUp } from "./contestants.mjs";
import { pickRows, sampled } from "./workloads.mjs";

const kEpsilon = 2 ** -23;
const kTurnSeconds = 0.03;
/** The number of turns that find a peer's fastest graph. */
const kProbes = 5;
/** A graph of a peer that takes this many times as long as the fastest so far is not tried any further. */
const kHopeless = 4;

const sorted = (values) => [...values].sort((a, b) => a - b);
export const quantile = (values, q) => sorted(values)[Math.round(q * (values.length - 1))];
export const median = (values) => quantile(values, 0.5);
const quartiles = (values) => [quantile(values, 0.25), quantile(values, 0.75)];
const maxNorm = (values) => values.reduce((norm, value) => Math.max(norm, Math.abs(value)), 0);

/** A mask [rows, keys] that is true where query `rows[i]` may not look. */
const causalRows = (rows, keys) => ({
  data: Uint8Array.from({ length: rows.length * keys }, (_, i) => Number(i % keys > rows[Math.floor(i / keys)])),
  shape: [rows.length, keys],
});

const kReference = { backend: "reference", maskTrue: "ignore", averageAttnWeights: false };

/** Pools whole rows of a map into the rows of the pooled map that they cover. */
function pooled({ data, shape: [, , rows, columns] }, block) {
  const [outRows, outColumns] = [rows / block, columns / block];
  return Float64Array.from({ length: outRows * outColumns }, (_, at) => {
    const [i, j] = [Math.floor(at / outColumns), at % outColumns];
    let sum = 0;
    for (let y = i * block; y < (i + 1) * block; ++y)
      for (let x = j * block; x < (j + 1) * block; ++x) sum += data[y * columns + x];
    return sum / block ** 2;
  });
}

/**
 * The results of the same queries in double precision, { rows, output?, maps?, terms }, where `terms` is the number of
 * products in each sum.
 */
const references = {
  layer(engine, { row, data }) {
    const rows = sampled(row.tokens);
    const layer = engine.multiheadAttention({ embedDim: row.width, numHeads: row.heads, batchFirst: true });
    layer.loadStateDict(data.state);
    const attnMask = row.causal ? { attnMask: causalRows(rows, row.tokens) } : {};
    const options = { ...kReference, ...attnMask, needWeights: row.maps };
    const { output, weights } = layer.forward(pickRows(data.x, rows), data.x, data.x, options);
    return { rows, terms: row.width, output: output.data, maps: weights?.data };
  },
  core(engine, { row, data: { q, k, v } }) {
    const rows = sampled(row.queries);
    const attnMask = row.causal ? { attnMask: causalRows(rows, row.keys) } : {};
    const options = { ...kReference, ...attnMask, enableGqa: row.heads !== row.kv_heads };
    const { output } = engine.scaledDotProductAttention(pickRows(q, rows), k, v, options);
    return { rows, terms: row.head_dim, output: output.data };
  },
  map(engine, { row, data: { q, k } }) {
    const rows = sampled(row.pool ?? row.rows);
    const block = row.pool ? row.tokens / row.pool : 1;
    const whole = rows.flatMap((i) => Array.from({ length: block }, (_, j) => i * block + j));
    const options = { ...kReference, needWeights: true };
    const { weights } = engine.scaledDotProductAttention(pickRows(q, whole), k, k, options);
    return { rows, terms: q.shape[3], maps: row.pool ? pooled(weights, block) : weights.data };
  },
};

/**
 * The results that all contestants must have. Whole models are compared with each other here, and with PyTorch in the
 * tests.
 */
function expectedOf(engine, job) {
  const reference = references[job.row.kind];
  if (reference) return reference(engine, job);
  const { kind, tokens, model } = job.row;
  return { rows: sampled(kind === "decode" ? model.vocabulary : tokens), terms: 16 * model.width };
}

/** Each result is a sum of `terms` rounded products, so it must be within that many times ε of the largest. */
async function check(contestant, expected) {
  const got = await contestant.look(expected.rows);
  for (const key of ["output", "maps"]) {
    if (!got[key]?.data?.length) {
      if (expected[key]) throw new Error(`${contestant.name}: there is no ${key}`);
      continue;
    }
    expected[key] ??= got[key].data;
    const tolerance = expected.terms * kEpsilon * maxNorm(expected[key]);
    const { data } = got[key];
    const worst = expected[key].reduce((most, value, i) => Math.max(most, Math.abs(value - (data[i] ?? NaN))), 0);
    if (worst <= tolerance) continue;
    throw new Error(`${contestant.name} ${contestant.variant ?? ""}: ${key} is off by ${worst}, at most ${tolerance}`);
  }
}

/** The number of calls in a turn. */
const callsIn = (seconds) => Math.max(1, Math.ceil(kTurnSeconds / seconds));

/**
 * Tries a peer's graphs one after the other. Returns { best, skipped }: the fastest graph with right results, and the
 * reasons against the others.
 */
async function fastest(name, job, expected, host) {
  const { variants, skipped } = graphsFor(name, job.row);
  let best, bestSeconds = Infinity;
  for (const variant of variants) {
    let peer;
    try {
      peer = await makePeer(name, variant, job, host);
      const first = await peer.round(1);
      await check(peer, expected);
      if (first > kHopeless * bestSeconds && first > 0.5) throw new Error(`a call takes ${first.toFixed(2)} s`);
      if (first < 1) await warmUp(peer);
      const calls = callsIn(await peer.round(1));
      // Takes the minimum: graphs do not take turns here, and other work of the machine must not decide.
      let seconds = Infinity;
      for (let turn = 0; turn < kProbes; ++turn) seconds = Math.min(seconds, await peer.round(calls));
      skipped.push(`${name} ${variant}: ${(1000 * seconds).toPrecision(3)} ms`);
      if (seconds < bestSeconds) {
        await best?.close();
        [best, bestSeconds] = [peer, seconds];
        continue;
      }
    } catch (error) {
      skipped.push(`${name} ${variant}: ${String(error.message ?? error).split("\n")[0].slice(0, 200)}`);
    }
    await peer?.close();
  }
  return { best, skipped };
}

/**
 * Runs `rounds` rounds of turns, or fewer when they take longer than `seconds`. Each round has the seconds per call of
 * each contestant and, after our own turns, the limit, since a processor's clock rate changes.
 */
async function takeTurns(contestants, rounds, seconds) {
  const calls = [];
  for (const contestant of contestants) calls.push(callsIn(await contestant.round(1)));
  const times = contestants.map(() => []), limits = contestants.map(() => []);
  const end = performance.now() + 1000 * seconds;
  for (let round = 0; round < rounds && (round < 3 || performance.now() < end); ++round) {
    // Every second round runs in the other direction, so that no contestant always follows the same other one.
    const order = [...contestants.keys()];
    if (round % 2) order.reverse();
    for (const i of order) {
      times[i].push(await contestants[i].round(calls[i]));
      if (contestants[i].limit) limits[i].push(await contestants[i].limit());
    }
  }
  return { times, limits };
}

function result(contestant, own, peers) {
  const ratios = {};
  for (const [name, times] of Object.entries(peers)) {
    if (name === contestant.name) continue;
    const each = times.map((time, round) => time / own[round]);
    ratios[name] = { median: median(each), quartiles: quartiles(each) };
  }
  return {
    name: contestant.name, variant: contestant.variant, seconds: median(own), min: Math.min(...own),
    quartiles: quartiles(own), times: own, peak_bytes: contestant.peakBytes?.(), ratios,
  };
}

/**
 * Compares the contestants of one row: `makers` make our own, and `peers` are names. Returns { results, tried }: a line
 * for each contestant with its speed relative to each peer and the limit measured with it, and the outcome of each of
 * the peers' graphs.
 */
export async function compare(row, makers, peers, { rounds, seconds }, host) {
  const job = { row, data: await host.dataOf(row) };
  const expected = await host.withReference((engine) => expectedOf(engine, job));
  const contestants = [];
  for (const make of makers) {
    const contestant = await make(job);
    await check(contestant, expected);
    contestants.push(contestant);
  }
  const tried = [];
  for (const name of peers) {
    const { best, skipped } = await fastest(name, job, expected, host);
    tried.push(...skipped);
    if (best) contestants.push(best);
  }
  const { times, limits } = await takeTurns(contestants, rounds, seconds);
  const named = contestants.map(({ name }, i) => [name, times[i]]);
  const peerTimes = Object.fromEntries(named.filter(([name]) => peers.includes(name)));
  const results = [];
  for (const [i, contestant] of contestants.entries()) {
    const ofPeer = peers.includes(contestant.name);
    results.push({ ...result(contestant, times[i], ofPeer ? {} : peerTimes), limits: limits[i] });
    await contestant.close();
  }
  return { results, tried };
}
