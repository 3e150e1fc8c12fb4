#pragma once

#include <cstdint>
#include <vector>

#include "judge/inference/contract_probes.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Results of attention's gradient for --infer.

/// A call's results as one probe per batch: dk and dv are sums over all queries of a batch. Leaves out the gradient by
/// the sinks, a sum over all batches.
///
/// got       the outputs of the dense batch
/// scalars   the format of lse
std::vector<Probe> gradient_probes(Op op, numerics::Format scalars, const AttentionCase& attention,
                                   const AttentionOp::Outputs& got);

/// Calls with two versions of the tightness witness of sums (ask_half_ulps), each with the large term first and last.
/// With n queries of one key: p = 1, and dv is the sum of dO. With n keys of a query that is 0: scores are 0, values
/// alternate between 1 and -1, and dq is the mean of |k|.
void ask_gradient_sums(Prober& prober, numerics::Format input, numerics::Format accumulator, std::uint64_t n,
                       ProbeSet& probes);

}  // namespace softcheck::proptests
