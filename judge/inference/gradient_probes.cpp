#include "judge/inference/gradient_probes.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "judge/ops/attention/attention_rows.hpp"
#include "numerics/enclosures/ulp.hpp"

namespace softcheck::proptests {

using numerics::Format;

namespace {

// The part of one batch; empty if there are no numbers.
template <class Number>
std::vector<Number> part_of_batch(const std::vector<Number>& numbers, std::size_t b, std::size_t batches) {
  const auto size = static_cast<std::ptrdiff_t>(numbers.size() / batches);
  const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(b) * size;
  return {first, first + size};
}

AttentionCase batch_alone(const AttentionCase& a, std::size_t b) {
  AttentionCase part = a;
  const std::size_t batches = a.shape.batch;
  part.shape.batch = 1;
  part.layout = 0;
  part.outputs = 1;
  for (std::vector<double> AttentionCase::*const numbers :
       {&AttentionCase::queries, &AttentionCase::keys, &AttentionCase::values, &AttentionCase::gradients}) {
    part.*numbers = part_of_batch(a.*numbers, b, batches);
  }
  part.mask = part_of_batch(a.mask, b, batches);
  part.attributes.bias = part_of_batch(a.attributes.bias, b, batches);
  if (a.sequences.any()) {
    part.sequences.queries = {a.sequences.queries[b]};
    part.sequences.keys = {a.sequences.keys[b]};
  }
  return part;
}

// `small` is slightly more than half a last place of `large`: every addition to it rounds up.
struct HalfUlps {
  double large, small;
};

HalfUlps half_ulps(Format input, Format accumulator) {
  constexpr int above_subnormals = 8;
  const double half = std::ldexp(1.0, above_subnormals - numerics::properties(accumulator).precision);
  // An 8-bit format may have no number that small: its smallest number then shows nothing, but is valid.
  const double small = std::max(numerics::round_to(input, half + numerics::ulp(input, half)),
                                numerics::properties(input).smallest_subnormal);
  return {std::ldexp(1.0, above_subnormals), small};
}

}  // namespace

std::vector<Probe> gradient_probes(Op op, Format scalars, const AttentionCase& attention,
                                   const AttentionOp::Outputs& got) {
  const std::size_t parts = std::min<std::size_t>(got.size(), 3);  // dq, dk and dv; of a linear layer what it has
  const std::size_t batches = attention.shape.batch;
  std::vector<Probe> probes;
  for (std::size_t b = 0; b < batches; ++b) {
    AttentionOp::Outputs of_batch;
    for (std::size_t k = 0; k < parts; ++k) of_batch.push_back(part_of_batch(got[k], b, batches));
    const auto part = std::make_shared<const AttentionCase>(batch_alone(attention, b));
    const auto judge = [op, scalars, part, results = std::move(of_batch)](const numerics::Contract& contract) {
      AttentionTask task{op, contract, scalars};
      task.contract.output = contract.input;
      RowVerdicts all;
      op.attention_op().judge(task, *part, results, {}, [&](std::size_t, RowVerdicts verdicts) {
        all.vacuity += verdicts.vacuity;
        std::ranges::move(verdicts.findings, std::back_inserter(all.findings));
      });
      return all;
    };
    probes.push_back({describe_call(*part, "").text(), part->shape.keys, judge});
  }
  return probes;
}

void ask_gradient_sums(Prober& prober, Format input, Format accumulator, std::uint64_t n, ProbeSet& probes) {
  const HalfUlps terms = half_ulps(input, accumulator);
  std::vector<double> sum(n, terms.small);
  sum.front() = terms.large;
  for (int order = 0; order < 2; ++order, std::ranges::reverse(sum)) {
    AttentionCase over_queries;
    over_queries.format = input;
    over_queries.shape.queries = n;
    over_queries.queries.assign(n, 0.0);
    over_queries.keys = over_queries.values = {1.0};
    over_queries.gradients = sum;
    prober.ask(over_queries, probes);

    AttentionCase over_keys;
    over_keys.format = input;
    over_keys.shape.keys = n;
    over_keys.queries = {0.0};
    over_keys.gradients = {1.0};
    for (std::size_t j = 0; j < n; ++j) {
      const double sign = j % 2 == 0 ? 1 : -1;
      over_keys.values.push_back(sign);
      over_keys.keys.push_back(sign * sum[j]);
    }
    prober.ask(over_keys, probes);
  }
}

}  // namespace softcheck::proptests
