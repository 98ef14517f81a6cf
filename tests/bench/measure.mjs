// SPDX-License-Identifier: Apache-2.0
/**
 * How contestants are compared, in Node and in pages. Every contestant's results are checked first. Then rounds: in each, all contestants
 * of a row take their turn, so what the machine does meanwhile meets them all; a ratio is the median of the rounds' own ratios.
 */
import { graphsFor, peer as makePeer, warmUp } from "./contestants.mjs";
import { pickRows, sampled } from "./workloads.mjs";

const kEpsilon = 2 ** -23;
const kTurnSeconds = 0.03;
/** Turns by which a peer's fastest graph is found. */
const kProbes = 5;
/** A peer's graph that takes so many times as long as its fastest so far is not tried any further. */
const kHopeless = 4;

const sorted = (values) => [...values].sort((a, b) => a - b);
export const quantile = (values, q) => sorted(values)[Math.round(q * (values.length - 1))];
export const median = (values) => quantile(values, 0.5);
const quartiles = (values) => [quantile(values, 0.25), quantile(values, 0.75)];
const maxNorm = (values) => values.reduce((norm, value) => Math.max(norm, Math.abs(value)), 0);

/** True where query `rows[i]` may not look, as a mask [rows, keys]. */
const causalRows = (rows, keys) => ({
  data: Uint8Array.from({ length: rows.length * keys }, (_, i) => Number(i % keys > rows[Math.floor(i / keys)])),
  shape: [rows.length, keys],
});

const kReference = { backend: "reference", maskTrue: "ignore", averageAttnWeights: false };

/** Rows of a pooled map out of as many whole rows of the map as they cover. */
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

/** The same queries in double precision, { rows, output?, maps? } with `terms`: how many products each number sums. */
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

/** What all are held against; whole models are held against each other here, and against PyTorch in the tests. */
function expectedOf(engine, job) {
  const reference = references[job.row.kind];
  if (reference) return reference(engine, job);
  const { kind, tokens, model } = job.row;
  return { rows: sampled(kind === "decode" ? model.vocabulary : tokens), terms: 16 * model.width };
}

/** Each result is a sum of so many products, each rounded: within that many times ε of the largest. */
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

/** How many calls make a turn. */
const callsIn = (seconds) => Math.max(1, Math.ceil(kTurnSeconds / seconds));

/** A peer's graphs one after the other: { best, skipped }, where `best` is the fastest that is right, and `skipped` says what the others lack. */
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
      // The least: they do not take turns here, and what else the machine does must not choose.
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
 * `rounds` of turns, fewer when they take longer than `seconds`. In each, seconds per call of each contestant, and after the turns of ours
 * the limit: a processor's clock changes.
 */
async function takeTurns(contestants, rounds, seconds) {
  const calls = [];
  for (const contestant of contestants) calls.push(callsIn(await contestant.round(1)));
  const times = contestants.map(() => []), limits = contestants.map(() => []);
  const end = performance.now() + 1000 * seconds;
  for (let round = 0; round < rounds && (round < 3 || performance.now() < end); ++round) {
    // Every round in the other direction: nobody always comes after the same one.
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
 * One row: `makers` make the contestants of our own, `peers` are names. Returns { results, tried }: a line for each contestant, with its
 * speed against each peer's and the limit measured beside it, and what became of each of the peers' graphs.
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
