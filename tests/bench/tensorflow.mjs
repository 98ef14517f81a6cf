// SPDX-License-Identifier: Apache-2.0
/** The same workloads for TensorFlow.js with its WebAssembly backend, written with the operators that it has. */

const scaleOf = (d) => 1 / Math.sqrt(d);

/** 0 where a query may look, and a very low number elsewhere. */
function causalMask(tf, size) {
  const mask = new Float32Array(size * size);
  for (let t = 0; t < size; ++t) mask.fill(-1e30, t * size + t + 1, (t + 1) * size);
  return tf.tensor(mask, [size, size]);
}

/** The weights for q and k [..., T, d]. */
function weightsOf(tf, q, k, mask, d) {
  const scores = tf.mul(tf.matMul(q, k, false, true), scaleOf(d));
  return tf.softmax(mask ? tf.add(scores, mask) : scores);
}

/** Each function computes { output?, maps? } as tensors of TensorFlow.js. */
const graphs = {
  layer(tf, { batch, tokens, width, heads, causal, maps }, data) {
    const d = width / heads;
    const matrix = (name) => tf.tensor(data.weights[name], [width, width]);
    const [weights, biases] = [{}, {}];
    for (const name of ["q", "k", "v", "o"]) {
      weights[name] = matrix(name);
      biases[name] = tf.tensor(data.biases[name], [width]);
    }
    const mask = causal ? causalMask(tf, tokens) : undefined;
    const linear = (x, name) => tf.fused.matMul({ a: x, b: weights[name], bias: biases[name] });
    return () => {
      const x = tf.tensor(data.x.data, [batch * tokens, width]);
      const [q, k, v] = ["q", "k", "v"].map((name) =>
        tf.transpose(tf.reshape(linear(x, name), [batch, tokens, heads, d]), [0, 2, 1, 3]));
      const attended = weightsOf(tf, q, k, mask, d);
      const joined = tf.reshape(tf.transpose(tf.matMul(attended, v), [0, 2, 1, 3]), [batch * tokens, width]);
      const output = tf.reshape(linear(joined, "o"), [batch, tokens, width]);
      return maps ? { output, maps: attended } : { output };
    };
  },
  core(tf, { heads, kv_heads: groups, queries, head_dim: d, causal }, data) {
    const mask = causal ? causalMask(tf, queries) : undefined;
    const tensor = ({ data: values, shape: [, count, length] }) => tf.tensor(values, [count, length, d]);
    // Repeats the keys and values of a group for each of its heads.
    const repeated = (x, length) => heads === groups
      ? x : tf.reshape(tf.tile(tf.expandDims(x, 1), [1, heads / groups, 1, 1]), [heads, length, d]);
    return () => {
      const [k, v] = [data.k, data.v].map((given) => repeated(tensor(given), given.shape[2]));
      const q = tensor(data.q);
      return { output: tf.reshape(tf.matMul(weightsOf(tf, q, k, mask, d), v), data.q.shape) };
    };
  },
  map(tf, { tokens, pool, rows }, { q, k }) {
    const d = q.shape[3];
    const queries = pool ? q.data : q.data.subarray(0, rows * d);
    return () => {
      const rowsOfQ = tf.tensor(queries, [queries.length / d, d]);
      const maps = weightsOf(tf, rowsOfQ, tf.tensor(k.data, [tokens, d]), undefined, d);
      if (!pool) return { maps };
      const block = tokens / pool;
      return { maps: tf.reshape(tf.avgPool(tf.reshape(maps, [tokens, tokens, 1]), block, block, "valid"), [pool, pool]) };
    };
  },
};

/** A contestant. Its results are read back like those of the others. */
export async function tensorflow(name, variant, { row, data }, host) {
  const tf = await host.peer(name);
  const engineState = tf.engine();
  engineState.startScope();
  const graph = graphs[row.kind](tf, row, data);
  let last;
  function call() {
    const tensors = tf.tidy(graph);
    const read = {};
    for (const [key, tensor] of Object.entries(tensors)) {
      read[key] = { data: tensor.dataSync(), shape: tensor.shape };
      tensor.dispose();
    }
    return read;
  }
  return {
    name, variant,
    async round(count) {
      const start = performance.now();
      for (let i = 0; i < count; ++i) {
        last = undefined;
        last = call();
      }
      return (performance.now() - start) / 1000 / count;
    },
    results: () => last,
    async close() {
      last = undefined;
      engineState.endScope();
    },
  };
}
