#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge/inference/contract_probes.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// What attention's gradient shows of a contract (--infer).

/// A call's results, one probe for each batch: dk and dv are sums over all queries of one. The gradient by the sinks is
/// a sum over all batches and no part of them.
///
/// got       those of the dense batch
/// scalars   the format of lse
std::vector<Probe> gradient_probes(Op op, numerics::Format scalars, const AttentionCase& attention,
                                   const AttentionOp::Outputs& got);

/// The tightness witness of sums (ask_half_ulps) twice, each with the large term first and last. Over n queries of one
/// key: p = 1, and dv is the sum of dO. Over n keys of one query of 0: scores are 0, values alternately 1 and -1, and
/// dq is the mean of |k|.
void ask_gradient_sums(Prober& prober, numerics::Format input, numerics::Format accumulator, std::uint64_t n,
                       ProbeSet& probes);

}  // namespace softcheck::proptests
