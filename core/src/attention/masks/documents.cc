// SPDX-License-Identifier: Apache-2.0
/// Documents packed into one sequence: each looks at itself only.
#include <limits>

#include "attention/masks/mask_rule.h"
#include "base/checks.h"
#include "by_name/mask_reader.h"

namespace headlens {
namespace {

View<const std::int32_t, 2> ReadIds(MaskReader& in, std::string_view name, Index length) {
  const Index batch = in.sizes.batch;
  const Given* input = in.Find(name, {batch, length});
  if (!input) return {};
  using Limits = std::numeric_limits<std::int32_t>;
  return DenseView(in.args.Integers(name, *input, Limits::min(), Limits::max()), std::array{batch, length});
}

}  // namespace

extern const MaskRule kDocuments = {
    .tensors = {"query_documents", "key_documents"},
    .present = [](const Mask& mask) { return mask.key_documents || mask.query_documents; },
    .validate =
        [](const AttentionProblem& p) {
          if (!p.mask.key_documents) throw Error(ErrorCode::kShape, "query_documents needs key_documents");
          ExpectSizes("key_documents", SizesOf(p.mask.key_documents), {p.q.shape[0], MaskableKeys(p)});
          ExpectSizes("query_documents", SizesOf(p.mask.query_documents), {p.q.shape[0], p.q.shape[2]});
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          const std::int32_t own = p.mask.query_documents(row.b, row.t);
          marks.Different(p.mask.key_documents.at(row.b), p.mask.key_documents.strides[1], own);
        },
    .read =
        [](MaskReader& in, Mask& mask) {
          mask.key_documents = ReadIds(in, "key_documents", in.sizes.keys);
          mask.query_documents = ReadIds(in, "query_documents", in.sizes.queries);
          if (mask.query_documents || !mask.key_documents) return;
          if (in.sizes.queries != in.sizes.keys) {
            throw Error(ErrorCode::kShape, "query_documents is missing: " + std::to_string(in.sizes.queries) +
                                               " queries cannot take the documents of " +
                                               std::to_string(in.sizes.keys) + " keys");
          }
          mask.query_documents = mask.key_documents;
        },
};

}  // namespace headlens
