// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/inputs.h"

namespace headlens::opencl {
namespace {

template <class T, std::size_t Rank>
Memory UploadDense(Session& session, const View<const T, Rank>& view) {
  return view ? session.Upload(std::span<const T>(gpu::Dense(view))) : Memory();
}

}  // namespace

CallInputs::CallInputs(Session& session, const AttentionProblem& problem)
    : padding(UploadDense(session, problem.mask.key_padding)),
      lengths(UploadDense(session, problem.mask.valid_lens)),
      prefixes(UploadDense(session, problem.mask.prefix_lens)),
      global_tokens(UploadDense(session, problem.mask.global_tokens)),
      query_documents(UploadDense(session, problem.mask.query_documents)),
      key_documents(UploadDense(session, problem.mask.key_documents)),
      sinks(UploadDense(session, problem.normalizer.sinks)) {}

PassInputs::PassInputs(Session& session, const AttentionProblem& problem, const CallInputs& call, const gpu::Pass& pass)
    : session_(session), problem_(problem), call_(call), pass_(pass) {
  const std::vector<float> biases = gpu::PackBiases(problem, pass);
  if (!biases.empty()) biases_ = session.Upload(std::span<const float>(biases));
  if (!problem.head_mask) return;
  const std::vector<float> factors = gpu::PackHeadMask(problem, pass);
  head_mask_ = session.Upload(std::span<const float>(factors));
}

}  // namespace headlens::opencl
