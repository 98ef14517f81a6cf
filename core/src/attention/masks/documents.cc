// SPDX-License-Identifier: Apache-2.0
/// Several documents packed into one sequence: a query looks only at keys of its own document.
#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<Mask> kDocumentsFields[] = {
    field::Integers<&Mask::key_documents>("key_documents", "B,S",
                                          "The document of each key. A query looks only at keys of its own document."),
    field::Integers<&Mask::query_documents>(
        "query_documents", "B,T",
        "The document of each query. When absent, it is that of the key at the same place, which needs T = S."),
};

}  // namespace

extern const MaskRule kDocuments = {
    .fields = kDocumentsFields,
    .present = [](const Mask& mask) { return mask.key_documents || mask.query_documents; },
    .complete =
        [](Mask& mask, Index queries, Index keys) {
          if (mask.query_documents || !mask.key_documents) return;
          if (queries != keys) {
            throw MissingError(
                ErrorCode::kShape, "`query_documents`",
                {"one for each query: ", queries, " queries cannot take the documents of ", keys, " keys"});
          }
          mask.query_documents = mask.key_documents;
        },
    .validate =
        [](const AttentionProblem& p) {
          if (!p.mask.key_documents) throw NeedsError(ErrorCode::kShape, "`query_documents`", "`key_documents`");
          ExpectSizes("`key_documents`", SizesOf(p.mask.key_documents), {p.q.shape[0], MaskableKeys(p)});
          ExpectSizes("`query_documents`", SizesOf(p.mask.query_documents), {p.q.shape[0], p.q.shape[2]});
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          const std::int32_t own = p.mask.query_documents(row.b, row.t);
          marks.Different(p.mask.key_documents.at(row.b), p.mask.key_documents.strides[1], own);
        },
};

}  // namespace headlens
