// SPDX-License-Identifier: Apache-2.0
// What the kernels of attention share: the problem, and the way of a cell from q · k to its masked score.

// As struct DeviceProblem in attention.cc has it.
typedef struct {
  long keys, maskable, queries, first, rows;  // S, S without the appended, T; the block's first query and their number
  long own_shift;                             // query t stands where key t + own_shift does
  long window_left, window_right, dilation, top_k;
  Heads heads;
  Place q, k, v, output;                        // rows of output count from the block's first query, as those of q do
  long width, value_width;                      // of heads, of values
  long boolean_head, boolean_row, boolean_key;  // strides; rows count from the block's first
  long additive_head, additive_row, additive_key;
  ulong seed;
  uint highest_dropped;  // dropout keeps what has drawn more
  int drops, interleaved, boolean_keeps, causal, cap_after_bias, spreads, marks_hidden, fully_masked;
  float scale, softcap, temperature, sigmoid_bias, keep_factor;
} Problem;

// Tensors that cells depend on; null where the problem has none.
typedef struct {
  __global const uchar* boolean;        // by its strides
  __global const float* additive;       // by its strides
  __global const uchar* padding;        // [B, maskable]
  __global const int* lengths;          // [B, T]
  __global const int* prefixes;         // [B]
  __global const uchar* global_tokens;  // [B, maskable]
  __global const int* query_documents;  // [B, T]
  __global const int* key_documents;    // [B, maskable]
  __global const float* biases;         // [heads, T + maskable], by distance
} Inputs;

#define INPUT_PARAMETERS                                                                              \
  __global const uchar *boolean, __global const float *additive, __global const uchar *padding,       \
      __global const int *lengths, __global const int *prefixes, __global const uchar *global_tokens, \
      __global const int *query_documents, __global const int *key_documents, __global const float *biases
#define INPUTS {boolean, additive, padding, lengths, prefixes, global_tokens, query_documents, key_documents, biases}

// Query t of head h in batch b, which is head z of the block and its row r; `own` is the key where it stands.
typedef struct {
  long b, h, t, z, r, own;
} Row;

Row RowAt(const Problem* p, const long z, const long r) {
  const long group = p->heads.first + z / p->heads.members, member = z % p->heads.members, groups = p->heads.groups;
  const long h = p->interleaved ? member * groups + group % groups : group % groups * p->heads.members + member;
  const Row row = {group / groups, h, p->first + r, z, r, p->first + r + p->own_shift};
  return row;
}

bool IsGlobal(const Problem* p, const Inputs* in, const long b, const long s) {
  return s >= 0 && s < p->maskable && in->global_tokens[b * p->maskable + s] != 0;
}

bool HiddenByOrder(const Problem* p, const Inputs* in, const Row* row, const long s) {
  if (!p->causal || s <= row->own) return false;
  return !in->prefixes || s >= in->prefixes[row->b];
}

bool HiddenByLocality(const Problem* p, const Inputs* in, const Row* row, const long s) {
  const bool far_back = p->window_left >= 0 && s < row->own && row->own - s > p->window_left;
  const bool far_ahead = p->window_right >= 0 && s > row->own && s - row->own > p->window_right;
  const bool off_step = p->dilation != 1 && (row->own - s) % p->dilation != 0;
  if (!far_back && !far_ahead && !off_step) return false;
  return !in->global_tokens || !(IsGlobal(p, in, row->b, s) || IsGlobal(p, in, row->b, row->own));
}

bool IsHidden(const Problem* p, const Inputs* in, const Row* row, const long s) {
  if (s >= p->maskable) return false;
  if (in->boolean) {
    const long at = row->z * p->boolean_head + row->r * p->boolean_row + s * p->boolean_key;
    if ((in->boolean[at] != 0) != (p->boolean_keeps != 0)) return true;
  }
  if (in->additive) {
    const long at = row->z * p->additive_head + row->r * p->additive_row + s * p->additive_key;
    if (in->additive[at] == -INFINITY) return true;
  }
  if (in->padding && in->padding[row->b * p->maskable + s] != 0) return true;
  if (in->lengths && s >= in->lengths[row->b * p->queries + row->t]) return true;
  if (in->key_documents &&
      in->query_documents[row->b * p->queries + row->t] != in->key_documents[row->b * p->maskable + s]) {
    return true;
  }
  return HiddenByOrder(p, in, row, s) || HiddenByLocality(p, in, row, s);
}

float Cap(const Problem* p, const float x) { return p->softcap > 0.0f ? p->softcap * tanh(x / p->softcap) : x; }

// x with the biases of the cell; −∞ where the additive mask is.
float AddBiases(const Problem* p, const Inputs* in, const Row* row, const long s, const float x) {
  if (s >= p->maskable) return x;
  float bias = 0.0f;
  if (in->biases) bias = in->biases[row->z * (p->queries + p->maskable) + p->queries - 1 - row->t + s];
  if (in->additive) {
    const long at = row->z * p->additive_head + row->r * p->additive_row + s * p->additive_key;
    if (in->additive[at] == -INFINITY) return -INFINITY;
    bias += in->additive[at];
  }
  return x + bias;
}

#define LOWEST (-FLT_MAX)  // a masked score: smaller than all others, and still a number

// What the weights of a row are multiplied by, and ln Σ exp.
typedef struct {
  float factor, lse;
} RowEnd;

// Of a row of head z whose largest score is `max`, LOWEST where it sees nothing, and whose exponentials below that add
// up to `sum`; both to base 2.
RowEnd EndRow(const Problem* p, __global const float* sinks, __global const float* head_mask, const long z,
              const float max, const float sum) {
  const float sink = sinks ? sinks[RowAt(p, z, 0).h] * M_LOG2E_F : LOWEST, top = fmax(max, sink);
  const float share = exp2(max - top), total = sum * share + (sinks ? exp2(sink - top) : 0.0f);
  const bool sees_any = max != LOWEST;
  const RowEnd end = {sees_any ? share / total * (head_mask ? head_mask[z] : 1.0f) : 0.0f,
                      sees_any ? (top + log2(total)) * M_LN2_F : -INFINITY};
  return end;
}
