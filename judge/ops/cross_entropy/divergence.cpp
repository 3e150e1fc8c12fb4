// The Kullback-Leibler divergence of p = softmax(logits / theta) and q = softmax(teacher / theta), and its gradient by
// the logits (B22).
#include "numerics/oracles/divergence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "judge/ops/cross_entropy/divergence_terms.hpp"
#include "judge/ops/cross_entropy/loss_elements.hpp"
#include "judge/ops/cross_entropy/loss_inputs.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_divergence.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Bits of RowCase::auxiliary that all rows of a call share.
constexpr std::uint64_t reverse_bit = 1;

class DivergenceElements final : public RowElements {
 public:
  DivergenceElements(const RowInputs& row, std::string_view claim)
      : claim_(claim), of_(row), oracles_([this] { return of_.oracle(); }) {
    promised = is_in_range(row.contract, of_.largest());
    resolved = promised && of_.resolved();
    resolution = promised ? of_.resolution() : infinity;
    threshold_ = promised ? upper(of_.threshold(Grants::all).divergence(size_of(of_.value)).total()) : infinity;
    rounding_ = upper(of_.threshold(Grants::none).divergence(size_of(of_.value)).rounding);
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override { return oracles_.now().divergence(); }
  Quick quick(std::size_t) override { return of_.value; }
  double threshold(std::size_t) override { return threshold_; }
  double metric(std::size_t, double) override { return static_cast<double>(of_.metric); }
  bool is_vacuous(std::size_t, double metric) override { return numerics::is_vacuous(rounding_, metric); }
  bool overflows(std::size_t) override { return !promised; }

 private:
  std::string_view claim_;
  DivergenceTerms of_;
  OracleLadder<DivergenceOracle> oracles_;
  double threshold_ = 0, rounding_ = 0;
};

class DivergenceGradientElements final : public RowElements {
 public:
  DivergenceGradientElements(const RowInputs& row, std::string_view claim)
      : claim_(claim),
        of_(row),
        upstream_(row, row.auxiliary[1][0]),
        threshold_(of_.threshold(Grants::all)),
        plain_(of_.threshold(Grants::none)),
        oracles_([this] { return of_.oracle(); }) {
    const double factor = of_.reverse() ? of_.largest() + 2 : 2;
    promised = upstream_.in_range && is_in_range(row.contract, of_.largest()) &&
               is_in_range(row.contract, upper(upstream_.magnitude) * factor);
    resolved = promised && of_.resolved();
    if (!promised) resolution = infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t j) override { return oracles_.now().gradient(j, upstream_.exact()); }
  Quick quick(std::size_t j) override {
    const Quick scale{upstream_.value, upstream_.error};
    Quick value = product(scale, slope(of_.item(j)));
    value.error += 0x1p-1070L;
    return value;
  }
  double threshold(std::size_t j) override {
    return promised ? upper(bound(threshold_, j).total() + upstream_.lost_behind) : infinity;
  }
  bool repeats(std::size_t j) const override { return of_.repeats(j); }
  bool overflows(std::size_t) override { return !promised; }
  double metric(std::size_t j, double) override {
    const DivergenceTerms::Item& item = of_.item(j);
    long double size = item.weight.value;
    if (!of_.reverse()) {
      size += item.other.value;
    } else {
      size *= std::fabs(item.ratio.value) + std::fabs(of_.value.value) + 1;
    }
    return static_cast<double>(std::fabs(upstream_.value) * size);
  }
  bool is_vacuous(std::size_t j, double metric) override {
    return numerics::is_vacuous(upper(bound(plain_, j).rounding), metric);
  }

 private:
  // The gradient without upstream.
  Quick slope(const DivergenceTerms::Item& item) const {
    if (!of_.reverse()) return sum(item.other, {-item.weight.value, item.weight.error});
    return product(item.weight, sum(item.ratio, {-of_.value.value, of_.value.error}));
  }
  ScalarThreshold<UpperBound> bound(const DivergenceThreshold<UpperBound>& by, std::size_t j) const {
    const DivergenceTerms::Item& item = of_.item(j);
    const UpperBound size = at_most(slope(item));
    if (!of_.reverse()) return by.difference(item.bounds, upstream_.magnitude, size);
    return by.element(item.bounds, upstream_.magnitude, at_most(of_.value), upstream_.magnitude * size);
  }

  std::string_view claim_;
  DivergenceTerms of_;
  LossUpstream upstream_;
  DivergenceThreshold<UpperBound> threshold_, plain_;
  OracleLadder<DivergenceOracle> oracles_;
};

// The kinds of teachers: one likely class; the logits themselves, nearly so, shifted, reversed in order or negated;
// unrelated ones; all 0.
std::vector<double> drawn_teacher(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  const std::size_t n = logits.size();
  const std::uint64_t seed = auxiliary / 64;
  const double most = properties(format).largest;
  std::vector<double> teacher;
  teacher.reserve(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double unit = signed_unit(hashed(seed, j % 16)), x = logits[j];
    const auto value = [&]() -> double {
      switch (seed % 8) {
        case 0:
          return j == seed / 8 % n ? 8 : 0;
        case 1:
          return x;
        case 2:
          return x + 0x1p-4 * unit;
        case 3:
          return logits[n - 1 - j];
        case 4:
          return 4 * unit;
        case 5:
          return x + 3;
        case 6:
          return 0;
        default:
          return -x;
      }
    };
    teacher.push_back(round_to(format, std::clamp(value(), -most, most)));
  }
  return teacher;
}

// An op on two rows of logits, where -inf is the logit of a coefficient of 0.
class DivergenceOp : public HiddenClassesOp {
 public:
  Attributes attributes(std::uint64_t auxiliary, std::size_t) const override {
    return {.reverse = (auxiliary & reverse_bit) != 0};
  }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override {
    return (domain.forward_only ? reverse_bit : 0) | (domain.hides_by_infinity() ? 0 : hidden_items_bit);
  }
  std::uint64_t set_auxiliaries(const Domain& domain) const override { return domain.reverse_only ? reverse_bit : 0; }

 protected:
  static constexpr std::array<std::string_view, 2> words{"lse", "total"};
  constexpr explicit DivergenceOp(OpTraits traits) : HiddenClassesOp(of_divergences(traits)) {}
  ~DivergenceOp() = default;
  Due hidden_due(const RowInputs& row) const override { return DivergenceTerms::hidden_due(row); }

  /// The logits and the teacher's. -inf stands at the end, at the front or scattered: for the weighing row, for both,
  /// or, where the row may be infinite, for the other one's likeliest item.
  static std::vector<std::vector<double>> rows(Format format, std::span<const double> logits, std::uint64_t auxiliary,
                                               bool may_be_infinite) {
    std::vector<std::vector<double>> both{{logits.begin(), logits.end()}, drawn_teacher(format, logits, auxiliary)};
    if ((auxiliary & hidden_items_bit) == 0 || !properties(format).has_infinity || logits.empty()) return both;
    const bool reverse = (auxiliary & reverse_bit) != 0;
    std::vector<double>&weighing = both[reverse ? 0 : 1], &other = both[reverse ? 1 : 0];
    const std::size_t n = logits.size();
    const std::uint64_t kind = hashed(auxiliary / 64, 3) % 4;
    if (kind == 3 && may_be_infinite && n > 1) {
      other[static_cast<std::size_t>(std::ranges::max_element(weighing) - weighing.begin())] = -infinity;
      return both;
    }
    const bool at_the_front = hashed(auxiliary / 64, 4) % 2 == 0;
    const std::size_t visible = std::max<std::size_t>(n / 4, 1);
    const auto is_hidden = [&](std::size_t j) {
      if (kind == 2) return j > 0 && n <= 64 && hashed(auxiliary, j) % 4 == 0;
      return at_the_front ? j < n - visible : j > 0 && j >= n - n / 4;
    };
    for (std::size_t j = 0; j < n; ++j) {
      if (!is_hidden(j)) continue;
      weighing[j] = -infinity;
      if (kind != 0) other[j] = -infinity;
    }
    return both;
  }

 private:
  static constexpr OpTraits of_divergences(OpTraits traits) {
    traits.has_theta = traits.takes_mask = traits.takes_infinities = false;
    traits.optional_theta = traits.saved_logarithms = true;
    traits.answers = {.words = words, .expensive = true, .masked_rows = false};
    return traits;
  }
};

class KlDivergence final : public DivergenceOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::teacher}};
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.kl_divergence.loss"};

 public:
  constexpr KlDivergence()
      : DivergenceOp({.name = "kl_divergence",
                      .inputs = inputs,
                      .outputs = outputs,
                      .claims = claims,
                      .one_value_per_row = true,
                      .number = SOFTCHECK_OP_KL_DIVERGENCE}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    return rows(format, logits, auxiliary, true);
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<DivergenceElements>(row, claims[0]);
  }
};

class KlDivergenceBackward final : public DivergenceOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::teacher},
                                     OpInput{Role::upstream, Extent::rows}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.kl_divergence_backward.element"};

 public:
  constexpr KlDivergenceBackward()
      : DivergenceOp({.name = "kl_divergence_backward",
                      .inputs = inputs,
                      .outputs = outputs,
                      .claims = claims,
                      .may_be_in_place = true,
                      .number = SOFTCHECK_OP_KL_DIVERGENCE_BACKWARD}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    std::vector<std::vector<double>> inputs_of_row = rows(format, logits, auxiliary, false);
    const bool is_one = (auxiliary & other_upstream_bit) == 0;
    // As with class weights, the gradient exceeds upstream.
    inputs_of_row.push_back({is_one ? 1 : drawn_upstream(format, class_weights_bit, hashed(auxiliary, 1))});
    return inputs_of_row;
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<DivergenceGradientElements>(row, claims[0]);
  }
};

constinit const KlDivergence kl_op;
constinit const KlDivergenceBackward kl_backward_op;

}  // namespace

constinit const Op Op::kl_divergence = kl_op;
constinit const Op Op::kl_divergence_backward = kl_backward_op;

}  // namespace softcheck::proptests
