// SPDX-License-Identifier: Apache-2.0
#include "by_name/operations/embedding.h"

#include <cmath>
#include <vector>

#include "by_name/call_options.h"
#include "by_name/field_reader.h"
#include "by_name/operations/operation.h"
#include "headlens/position_tables.h"

namespace headlens {
namespace {

EmbeddingOptions ReadOptions(OptionReader& reader) {
  EmbeddingOptions options;
  FieldReader fields(reader);
  fields.Read(EmbeddingFields(), options);
  fields.Read(EmbeddingCallFields(), options);
  reader.Backend();  // unused, since a lookup is the same on all backends
  reader.RejectUnknown();
  return options;
}

/// A parameter of two dimensions of any size.
RawTensor MatrixParameter(const Parameters& parameters, const char* name) {
  const Given* matrix = parameters.Find(name);
  parameters.ExpectLoaded();
  if (!matrix) throw MissingError(ErrorCode::kShape, {"parameter ", name});
  if (matrix->shape.size() != 2) throw ShapeError(name, matrix->shape, "2 dimensions");
  if (!IsFloat(matrix->dtype)) throw DtypeError(name, ToString(matrix->dtype), "floats");
  return matrix->raw();
}

/// Reads rows of a matrix as floats, one at a time. F32 rows are used in place, since a vocabulary is large.
class RowReader {
 public:
  explicit RowReader(RawTensor matrix) : matrix_(std::move(matrix)) {}

  Index rows() const { return matrix_.shape[0]; }
  Index width() const { return matrix_.shape[1]; }

  /// Valid until the next call.
  const float* Row(Index row) {
    const std::size_t bytes = ByteSize(matrix_.dtype);
    const std::byte* from = matrix_.data + row * width() * static_cast<Index>(bytes);
    if (matrix_.dtype == DType::kF32) return reinterpret_cast<const float*>(from);
    row_.resize(static_cast<std::size_t>(width()));
    for (std::size_t i = 0; i < row_.size(); ++i) row_[i] = LoadFloat(matrix_.dtype, from + i * bytes);
    return row_.data();
  }

 private:
  RawTensor matrix_;
  std::vector<float> row_;
};

/// The vectors of `length` positions from `offset` on.
class PositionRows {
 public:
  PositionRows(const EmbeddingOptions& options, const Parameters& parameters, Index length, Index width) {
    if (options.positions == Positions::kSinusoidal) {
      made_ = SinusoidalPositions(length, width, options.offset);
      rows_.emplace(RawOf(made_));
    }
    if (options.positions != Positions::kLearned) return;
    rows_.emplace(MatrixParameter(parameters, "position_embeddings"));
    first_ = options.offset;
    if (rows_->width() == width && first_ <= rows_->rows() - length) return;
    throw ShapeError("position_embeddings", Shape{rows_->rows(), rows_->width()},
                     {"at least ", length, " positions from ", first_, " on, and a width of ", width});
  }

  /// Returns null when no positions are added.
  const float* Row(Index position) { return rows_ ? rows_->Row(first_ + position) : nullptr; }

 private:
  Tensor made_;
  std::optional<RowReader> rows_;
  Index first_ = 0;
};

/// weight[ids] (· √D) (+ positions) (Vaswani et al. 2017, §3.4 and §3.5).
class EmbeddingWork : public Work {
 public:
  explicit EmbeddingWork(OperationRun& run) : run_(run), options_(ReadOptions(run.reader)) {
    if (run.cache) throw Error(ErrorCode::kOption, "an embedding has no keys to cache");
  }

  void Compute() override {
    RowReader weight(MatrixParameter(run_.parameters, "weight"));
    const Given& ids = run_.args.Need("ids");
    if (ids.shape.empty() || ids.shape.size() > 2) {
      throw ShapeError("`ids`", ids.shape, "(length) or (batch, length)");
    }
    const Index width = weight.width(), length = ids.shape.back();
    const std::int32_t* id = run_.args.Integers("ids", ids, 0, weight.rows() - 1);
    Shape shape = ids.shape;
    shape.push_back(width);
    Tensor output(shape);
    PositionRows positions(options_, run_.parameters, length, width);
    const auto factor = options_.scaled ? static_cast<float>(std::sqrt(static_cast<double>(width))) : 1.0f;
    for (Index row = 0; row < ElementCount(ids.shape); ++row) {
      const float* from = weight.Row(id[row]);
      const float* add = positions.Row(row % length);
      for (Index i = 0; i < width; ++i) output.data()[row * width + i] = from[i] * factor + (add ? add[i] : 0.0f);
    }
    results.insert_or_assign("output", std::move(output));
  }

  /// Not repeatable, since the ids are checked in each call.
  bool repeatable() const override { return false; }

 private:
  OperationRun& run_;
  EmbeddingOptions options_;
};

class Embedding : public Operation {
 public:
  std::unique_ptr<Work> Prepare(OperationRun& run) override { return std::make_unique<EmbeddingWork>(run); }

  /// Nothing has to be built, but the tables must be given and fit.
  void Build(OptionReader& reader, const Parameters& parameters) override {
    const RawTensor weight = MatrixParameter(parameters, "weight");
    PositionRows(ReadOptions(reader), parameters, 0, weight.shape[1]);
  }

  Index ParameterCount(OptionReader& reader) const override {
    ReadOptions(reader);
    return 0;
  }
};

}  // namespace

std::span<const Field<EmbeddingOptions>> EmbeddingFields() {
  static constexpr Choice kPositions[] = {
      {"none", Positions::kNone}, {"sinusoidal", Positions::kSinusoidal}, {"learned", Positions::kLearned}};
  static constexpr Field<EmbeddingOptions> kFields[] = {
      field::OneOf<&EmbeddingOptions::positions>("positions", kPositions,
                                                 "The vectors that are added to the rows: none, sines and cosines "
                                                 "(Vaswani et al. 2017), or the parameter `position_embeddings`."),
      field::Flag<&EmbeddingOptions::scaled>("scale_embeddings",
                                             "Multiplies the rows by √D before positions are added."),
  };
  return kFields;
}

std::span<const Field<EmbeddingOptions>> EmbeddingCallFields() {
  static constexpr Field<EmbeddingOptions> kFields[] = {
      field::Count<&EmbeddingOptions::offset>("position_offset", 0, "The position of the first token."),
      field::Listed<EmbeddingOptions>(
          FieldType::kName, "backend", "",
          "\"simd\" (default) or \"reference\". Both give the same numbers, since rows are only looked up.",
          kBackendNames),
  };
  return kFields;
}

std::unique_ptr<Operation> MakeEmbedding() { return std::make_unique<Embedding>(); }

}  // namespace headlens
