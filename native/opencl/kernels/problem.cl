// SPDX-License-Identifier: Apache-2.0
// The kernels of attention share this: the tensors beside q, k and v, and the way of a cell from q · k to its masked
// score. Problem and its parts are structures of gpu/kernel_arguments.h, which is put before this file.

// The tensors that cells depend on; null where the problem has none.
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

// Query t of head h in batch b: row r of head z of the block. The query stands where key `own` does.
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

// Returns true when the query and the key are patches of a grid that are too far apart.
bool OutsideNeighborhood(const Problem* p, const Row* row, const long s) {
  const long from = row->own - p->first_patch, to = s - p->first_patch;
  if (p->grid_columns == 0 || from < 0 || to < 0) return false;
  const long rows = abs(from / p->grid_columns - to / p->grid_columns);
  const long columns = abs(from % p->grid_columns - to % p->grid_columns);
  return (p->neighborhood_rows >= 0 && rows > p->neighborhood_rows) ||
         (p->neighborhood_columns >= 0 && columns > p->neighborhood_columns);
}

bool HiddenByLocality(const Problem* p, const Inputs* in, const Row* row, const long s) {
  const bool far_back = p->window_left >= 0 && s < row->own && row->own - s > p->window_left;
  const bool far_ahead = p->window_right >= 0 && s > row->own && s - row->own > p->window_right;
  const bool off_step = p->dilation != 1 && (row->own - s) % p->dilation != 0;
  if (!far_back && !far_ahead && !off_step && !OutsideNeighborhood(p, row, s)) return false;
  return !in->global_tokens || !(IsGlobal(p, in, row->b, s) || IsGlobal(p, in, row->b, row->own));
}

bool IsHidden(const Problem* p, const Inputs* in, const Row* row, const long s) {
  if (s >= p->maskable) return false;
  if (in->boolean) {
    const long at = row->z * p->boolean.head + row->r * p->boolean.row + s * p->boolean.key;
    if ((in->boolean[at] != 0) != (p->boolean_keeps != 0)) return true;
  }
  if (in->additive) {
    const long at = row->z * p->additive.head + row->r * p->additive.row + s * p->additive.key;
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

// Returns x with the biases of the cell; −∞ where the additive mask is −∞.
float AddBiases(const Problem* p, const Inputs* in, const Row* row, const long s, const float x) {
  if (s >= p->maskable) return x;
  float bias = 0.0f;
  if (in->biases) bias = in->biases[row->z * (p->queries + p->maskable) + p->queries - 1 - row->t + s];
  if (in->additive) {
    const long at = row->z * p->additive.head + row->r * p->additive.row + s * p->additive.key;
    if (in->additive[at] == -INFINITY) return -INFINITY;
    bias += in->additive[at];
  }
  return x + bias;
}

#define LOWEST (-FLT_MAX)  // a masked score: smaller than all others, and still a number

// Kernels that go through a row's scores (to base 2) once measure exponentials from the largest one that they know of.
// When a larger one comes, all sums so far must shrink, which takes time: so it only counts once it is larger by this.
// No sum can overflow before: its exponentials are at most 2^MOST_RISE.
#define MOST_RISE 8.0f

// The factor of a row's weights, and its ln Σ exp.
typedef struct {
  float factor, lse;
} RowEnd;

// The end of a row of head z. Its exponentials add up to `sum`, measured from `max`, which is LOWEST where it sees
// nothing. Both are to base 2.
RowEnd EndRow(const Problem* p, __global const float* sinks, __global const float* head_mask, const long z,
              const float max, const float sum) {
  const float sink = sinks ? sinks[RowAt(p, z, 0).h] * M_LOG2E_F : LOWEST, top = fmax(max, sink);
  const float share = exp2(max - top), total = sum * share + (sinks ? exp2(sink - top) : 0.0f);
  const bool sees_any = max != LOWEST;
  const RowEnd end = {sees_any ? share / total * (head_mask ? head_mask[z] : 1.0f) : 0.0f,
                      sees_any ? (top + log2(total)) * M_LN2_F : -INFINITY};
  return end;
}
