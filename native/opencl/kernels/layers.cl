// SPDX-License-Identifier: Apache-2.0
// Layers are made of these beside products and attention. Build option: GROUP_ITEMS, a power of two. Matrices begin at
// element `first` of their buffers, and their rows are `stride` elements apart.

#define EACH_ITEM __kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void

// Returns the larger number, or NaN where one of them is NaN.
float Larger(const float a, const float b) { return b > a || isnan(b) ? b : a; }

// A work-group combines a value of each of its items.
#define REDUCE(name, combine)                                                                                     \
  float name(__local float* scratch, const float value) {                                                         \
    const int item = get_local_id(0);                                                                             \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
    scratch[item] = value;                                                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
    for (int half_size = GROUP_ITEMS / 2; half_size > 0; half_size /= 2) {                                        \
      if (item < half_size) scratch[item] = combine(scratch[item], scratch[item + half_size]);                    \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
    }                                                                                                             \
    return scratch[0];                                                                                            \
  }
#define PLUS(a, b) ((a) + (b))
REDUCE(Sum, PLUS)
REDUCE(Largest, Larger)

// Each work-group computes a row of x [rows, width]. y may be x.
EACH_ITEM RmsNorm(__global const float* x, const long x_first, const long x_stride, __global const float* weight,
                  const long weight_first, const float eps, const long width, __global float* y, const long y_first,
                  const long y_stride) {
  __local float scratch[GROUP_ITEMS];
  x += x_first + get_group_id(0) * x_stride;
  y += y_first + get_group_id(0) * y_stride;
  float squares = 0.0f;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) squares += x[i] * x[i];
  const float factor = 1.0f / sqrt(Sum(scratch, squares) / (float)width + eps);
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) y[i] = x[i] * factor * weight[weight_first + i];
}

// The same around the mean. `bias` is null where there is none.
EACH_ITEM LayerNorm(__global const float* x, const long x_first, const long x_stride, __global const float* weight,
                    const long weight_first, __global const float* bias, const long bias_first, const float eps,
                    const long width, __global float* y, const long y_first, const long y_stride) {
  __local float scratch[GROUP_ITEMS];
  x += x_first + get_group_id(0) * x_stride;
  y += y_first + get_group_id(0) * y_stride;
  float sum = 0.0f, squares = 0.0f;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) sum += x[i];
  const float mean = Sum(scratch, sum) / (float)width;
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = 1.0f / sqrt(Sum(scratch, squares) / (float)width + eps);
  for (long i = get_local_id(0); i < width; i += GROUP_ITEMS)
    y[i] = (x[i] - mean) * factor * weight[weight_first + i] + (bias ? bias[bias_first + i] : 0.0f);
}

// Turns the pairs of x [steps, heads, 2 half_width] in place, a work-item each. cosine and sine are [steps,
// half_width].
EACH_ITEM Rotate(__global float* x, const long first, const long step_stride, const long head_stride,
                 __global const float* cosine, const long cosine_first, const long cosine_stride,
                 __global const float* sine, const long sine_first, const long sine_stride, const long heads,
                 const long half_width, const long pairs, const int interleaved) {
  const long pair = get_global_id(0);
  if (pair >= pairs) return;
  const long i = pair % half_width, head = pair / half_width % heads, step = pair / half_width / heads;
  x += first + step * step_stride + head * head_stride;
  const long near = interleaved ? 2 * i : i, far = near + (interleaved ? 1 : half_width);
  const float a = x[near], b = x[far], c = cosine[cosine_first + step * cosine_stride + i],
              s = sine[sine_first + step * sine_stride + i];
  x[near] = a * c - b * s;
  x[far] = b * c + a * s;
}

EACH_ITEM Silu(__global float* x, const long first, const long count) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const float z = x[first + i];
  x[first + i] = z / (1.0f + exp(-z));
}

// For large z, 1 + erf(−z) would cancel to nothing, so it is computed as erfc(z).
EACH_ITEM Gelu(__global float* x, const long first, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[first + i] = 0.5f * x[first + i] * erfc(-0.70710678118654752f * x[first + i]);
}

// (1 + tanh z) / 2 is computed as 1 / (1 + exp(−2z)), which does not cancel.
EACH_ITEM GeluTanh(__global float* x, const long first, const long count) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const float v = x[first + i];
  x[first + i] = v / (1.0f + exp(-1.59576912160573071f * (v + 0.044715f * v * v * v)));
}

EACH_ITEM Relu(__global float* x, const long first, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[first + i] = x[first + i] < 0.0f ? 0.0f : x[first + i];
}

EACH_ITEM Add(__global float* x, const long first, __global const float* y, const long y_first, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[first + i] += y[y_first + i];
}

EACH_ITEM Multiply(__global float* x, const long first, __global const float* y, const long y_first, const long count) {
  const long i = get_global_id(0);
  if (i < count) x[first + i] *= y[y_first + i];
}

// to ← from, both [batches, heads, rows, width]. A head is the only member of its group.
EACH_ITEM CopyHeads(__global const float* from, const Place from_place, __global float* to, const Place to_place,
                    const Heads heads, const long rows, const long width, const long count) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long column = i % width, row = i / width % rows, z = i / width / rows;
  to[Begin(to_place, heads, z) + row * to_place.row + column] =
      from[Begin(from_place, heads, z) + row * from_place.row + column];
}

// Sets `unusual` where a number of x [heads, rows, width] is infinite or NaN.
EACH_ITEM FindUnusual(__global const float* x, const Place place, const Heads heads, const long rows, const long width,
                      const long count, __global uint* unusual) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long column = i % width, row = i / width % rows, z = i / width / rows;
  if (!isfinite(x[Begin(place, heads, z) + row * place.row + column])) atomic_or(unusual, 1u);
}

// Returns where part i begins when `count` is cut into `parts` equal ones.
long PartBegin(const long i, const long count, const long parts) { return i * count / parts; }

// y [parts, columns] becomes the means of x over equal blocks, or their largest numbers, a work-group for each block. x
// [.., keys] has the rows from first_row on of a map of `rows` rows, which is cut into `all_parts` parts; y's are those
// from first_part on. The sums are compensated (Kahan 1965), as a block can have many cells. A NaN makes its block NaN.
EACH_ITEM Pool(__global const float* x, const long x_first, const long x_stride, const long keys, const long first_row,
               const long rows, const long first_part, const long all_parts, const long columns, const int largest,
               __global float* y, const long y_first, const long y_stride) {
  __local float scratch[GROUP_ITEMS];
  long id = get_group_id(0);
  const long column = Next(&id, columns), part = id;
  const long top = PartBegin(first_part + part, rows, all_parts),
             bottom = PartBegin(first_part + part + 1, rows, all_parts);
  const long left = PartBegin(column, keys, columns), width = PartBegin(column + 1, keys, columns) - left;
  x += x_first + (top - first_row) * x_stride + left;
  // As many items as have a column stand side by side, and the others below them.
  const int item = get_local_id(0), across = (int)min(width, (long)GROUP_ITEMS), down = GROUP_ITEMS / across;
  const long height = item < across * down ? bottom - top : 0;
  float sum = 0.0f, lost = 0.0f, most = -INFINITY;
  for (long row = item / across; row < height; row += down) {
    for (long i = item % across; i < width; i += across) {
      const float cell = x[row * x_stride + i], term = cell - lost, next = sum + term;
      lost = (next - sum) - term;
      sum = next;
      most = Larger(most, cell);
    }
  }
  const float cells = (float)((bottom - top) * width);
  const float pooled = largest ? Largest(scratch, most) : Sum(scratch, sum) / cells;
  if (get_local_id(0) == 0) y[y_first + part * y_stride + column] = pooled;
}
