#include "judge/ops/rows/row_op.hpp"

#include <cmath>
#include <stdexcept>

#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

std::vector<std::vector<double>> RowOp::input_values(Format, std::span<const double> logits, std::uint64_t) const {
  return {{logits.begin(), logits.end()}};
}

std::size_t RowOp::values(std::size_t n, std::uint64_t auxiliary) const {
  return values_of_row(traits, n, width(n, auxiliary));
}

std::size_t RowOp::width_of(const RowInputs& row) const {
  return row.auxiliary.empty() || row.logits.empty() ? 0 : row.auxiliary[0].size() / row.logits.size();
}

std::unique_ptr<RowElements> RowOp::elements(const RowInputs&) const {
  throw std::logic_error(std::string(traits.name) +
                         ": need an op that gives its elements, or overrides what uses them");
}

std::unique_ptr<RowElements> RowOp::call_elements(const CallOfRows&) const {
  throw std::logic_error(std::string(traits.name) + ": need an op with one value for a call");
}

void RowOp::judge(const JudgedRow& row, RowVerdicts& verdicts) const {
  const PrecisionScope precision(113);
  const std::unique_ptr<RowElements> of = elements(row);
  judge_elements(*this, traits.one_value_per_row ? Extent::rows : Extent::items, row, *of, verdicts);
}

void RowOp::enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const {
  const PrecisionScope precision(113);
  const std::unique_ptr<RowElements> of = elements(row);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (!traits.one_value_per_row && !std::isfinite(row.logits[i])) {
      if (std::isnan(row.logits[i])) lower[i] = upper[i] = nan;
      continue;
    }
    const Enclosure value = refined(of->value(i), [&] { return of->value(i); });
    lower[i] = value.lower_double();
    upper[i] = value.upper_double();
  }
}

void RowOp::grant(const RowInputs& row, std::span<double> allowed) const {
  const PrecisionScope precision(113);
  const std::unique_ptr<RowElements> of = elements(row);
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const double logit = traits.one_value_per_row ? 0 : row.logits[i];
    allowed[i] = std::isnan(logit)   ? nan
                 : !of->promised     ? infinity
                 : std::isinf(logit) ? 0
                                     : granted(row.contract, *of, i);
  }
}

Enclosure RowOp::uniform(std::uint64_t n) const { return Enclosure(1) / Enclosure::integer(n); }

}  // namespace softcheck::proptests
