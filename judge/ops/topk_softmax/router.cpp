#include "judge/ops/topk_softmax/router.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Bits that the domain's words set; in the fields of numbers 0 is any.
constexpr std::uint64_t sigmoid_bit = domain_bit, either_bit = 2 * domain_bit, bias_bit = 4 * domain_bit,
                        scale_bit = 8 * domain_bit, groups_bit = 16 * domain_bit;
constexpr std::uint64_t groups_unit = 32 * domain_bit, kept_unit = 128 * groups_unit, items_unit = 128 * kept_unit,
                        k_unit = 4 * items_unit;
constexpr std::uint64_t most_groups = 127;
constexpr std::array<double, 8> factors{2.5, 1, 0.5, 16, 2.446, 1.0 / 3, 0x1p-20, 1000};

std::uint64_t field(std::uint64_t auxiliary, std::uint64_t unit, std::uint64_t values) {
  return auxiliary / unit % values;
}

// The number of groups of n items, each of this many items or more; 0: none.
std::size_t drawn_groups(std::uint64_t code, std::size_t n, std::size_t least) {
  std::vector<std::size_t> possible;
  for (const std::size_t groups :
       {std::size_t{4}, std::size_t{2}, std::size_t{8}, std::size_t{3}, std::size_t{16}, n / 2, n, std::size_t{1}}) {
    if (groups > 0 && groups <= most_groups && n % groups == 0 && n / groups >= least) possible.push_back(groups);
  }
  return possible.empty() ? 0 : possible[code % possible.size()];
}

void draw_groups(Attributes& attributes, std::uint64_t auxiliary, std::uint64_t code, std::size_t n) {
  if ((auxiliary & groups_bit) == 0 || n == 0) return;
  const std::uint64_t items = field(auxiliary, items_unit, 4), given = field(auxiliary, groups_unit, 128);
  const std::size_t groups = given == 0 ? drawn_groups(code, n, items) : n % given == 0 ? given : 0;
  if (groups == 0) return;
  const std::size_t size = n / groups;
  attributes.groups = static_cast<std::int32_t>(groups);
  attributes.group_items = static_cast<std::int32_t>(std::min(items == 0 ? 1 + code / 8 % 2 : items, size));
  const auto k = static_cast<std::size_t>(attributes.k);
  const std::size_t least = std::max<std::size_t>((k + size - 1) / size, 1);
  std::size_t kept = field(auxiliary, kept_unit, 128);
  if (kept == 0) kept = least + code / 16 % (groups - least + 1);
  kept = std::min(kept, groups);
  attributes.groups_kept = static_cast<std::int32_t>(kept);
  attributes.k = static_cast<std::int32_t>(std::min(k, kept * size));
}

// The bias of item i of a call: of any sign, only negative, as coarse as logits with many ties, as small as
// coefficients of long rows, or all 0.
double drawn_bias(std::uint64_t code, std::size_t n, std::size_t i) {
  const std::uint64_t bits = hashed(code, i);
  const double unit = signed_unit(bits);
  switch (code % 6) {
    case 0:
      return 0.5 * unit;
    case 1:
      return -1.5 + 0.5 * unit;
    case 2:
      return 0.125 * static_cast<double>(bits % 9) - 0.5;
    case 3:
      return unit / static_cast<double>(n);
    case 4:
      return 4 * unit;
    default:
      return 0;
  }
}

constexpr double largest_logit = 16;

}  // namespace

Attributes with_router(Attributes drawn, std::uint64_t auxiliary, std::size_t n) {
  if (!is_router(auxiliary)) return drawn;
  const std::uint64_t code = hashed(auxiliary & 63, n) >> 8;
  draw_groups(drawn, auxiliary, code, n);
  drawn.sigmoid = (auxiliary & sigmoid_bit) != 0 || ((auxiliary & either_bit) != 0 && code / 4096 % 2 == 0);
  if ((auxiliary & scale_bit) != 0) drawn.routed_scale = factors[code / 8192 % factors.size()];
  return drawn;
}

std::uint64_t router_bits(const Domain& domain) {
  const auto number = [&](const char* name) { return std::min(routed_length(domain, name), most_groups); };
  std::uint64_t bits = domain.sigmoid_scores ? sigmoid_bit : domain.either_scores ? either_bit : 0;
  if (domain.bias) bits |= bias_bit;
  if (domain.routed_scale) bits |= scale_bit;
  const LengthRange k = domain.length("k");
  if (bits != 0 || domain.has_groups()) bits |= (k.least == k.most && k.most <= most_groups ? k.most : 0) * k_unit;
  if (!domain.has_groups()) return bits;
  const std::uint64_t items = std::min<std::uint64_t>(number("group_items"), 2);
  return bits | groups_bit | number("groups") * groups_unit | number("kept") * kept_unit | items * items_unit;
}

std::uint64_t router_k(std::uint64_t auxiliary) { return field(auxiliary, k_unit, 128); }
bool is_router(std::uint64_t auxiliary) { return (auxiliary & domain_bits) != 0; }
bool has_bias(std::uint64_t auxiliary) { return (auxiliary & bias_bit) != 0; }

std::vector<std::vector<double>> router_inputs(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  std::vector<double> values(logits.begin(), logits.end()), bias;
  const std::size_t n = values.size();
  const std::uint64_t form = auxiliary / 64 % 4, seed = hashed(auxiliary / 64 % 1024, n);
  double factor = 1;
  while (largest_magnitude_of(logits) * factor > largest_logit) factor /= 2;
  for (std::size_t i = 0; i < n; ++i) {
    double& x = values[i];
    if (!std::isfinite(x)) continue;
    const std::uint64_t bits = hashed(seed, i);
    x = form == 1   ? 4 * signed_unit(bits)                           // as routers have them
        : form == 2 ? 0.5 * static_cast<double>(bits % 5) - 1         // many ties
        : form == 3 ? 3 * signed_unit(bits) * (bits % 8 < 7 ? 1 : 4)  // some far from 0
                    : x * factor;
    x = into_format(format, x);
  }
  const std::uint64_t code = hashed(auxiliary & 63, n) >> 32;
  if (has_bias(auxiliary)) {
    for (std::size_t i = 0; i < n; ++i) bias.push_back(round_to(wide_format(format), drawn_bias(code, n, i)));
  }
  return {std::move(values), std::move(bias)};
}

bool ranks_scores(const RowInputs& row) {
  return row.attributes.sigmoid || row.attributes.groups != 0 || (!row.auxiliary.empty() && !row.auxiliary[0].empty());
}

Enclosure sigmoid_of(double x) {
  if (std::isinf(x)) return Enclosure(x > 0 ? 1 : 0);
  const Enclosure e = exp(-abs(Enclosure(x)));
  return (x < 0 ? e : Enclosure(1)) / (Enclosure(1) + e);
}

Coefficient sigmoid_coefficient(const SigmoidThreshold& threshold, double x) {
  if (std::isinf(x)) return {x > 0 ? 1.0L : 0.0L, 0, {}};
  const long double e = std::exp(-std::fabs(static_cast<long double>(x))), p = (x < 0 ? e : 1) / (1 + e);
  // expl has at most 2 ulps (the GNU C library's manual, x86-64); a sum and a quotient are rounded.
  const long double unsure = 4 * two_roundings * p + 0x1p-1070L;
  SigmoidKey key;
  key.x = x;
  key.size = UpperBound(std::fabs(x));
  key.coefficient = size_of(Quick{p, unsure});
  return {p, unsure, threshold.weight_error(key)};
}

RouterChoice::RouterChoice(const RowInputs& row, std::span<const Coefficient> coefficients)
    : k_(static_cast<std::size_t>(row.attributes.k)), pairs_(row.attributes.group_items == 2), rounding_(row.contract) {
  if (row.attributes.groups > 0) {
    groups_ = static_cast<std::size_t>(row.attributes.groups);
    kept_ = static_cast<std::size_t>(row.attributes.groups_kept);
  }
  const bool biased = !row.auxiliary.empty() && !row.auxiliary[0].empty();
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const Coefficient& p = coefficients[i];
    const double bias = biased ? row.auxiliary[0][i] : 0;
    const long double score = p.value + bias, unsure = p.unsure + two_roundings * std::fabs(score);
    UpperBound granted = p.granted.total();
    if (biased) granted = rounding_.score(granted, UpperBound(std::fabs(bias)), size_of(Quick{score, unsure}));
    scores_.push_back({score, upper(granted), unsure + two_roundings * upper(granted)});
  }
}

RouterChoice::Ends RouterChoice::ends(const Score& score, int side) const {
  const long double half = score.granted + side * score.unsure;
  return {score.value - half, score.value + half};
}

RouterChoice::Ends RouterChoice::ends_of_group(std::size_t group, int side) const {
  constexpr long double least = -std::numeric_limits<long double>::infinity();
  std::array<long double, 2> lower{least, least}, higher{least, least};
  const auto add = [](std::array<long double, 2>& best, long double end) {
    if (end > best[0]) {
      best = {end, best[0]};
    } else {
      best[1] = std::max(best[1], end);
    }
  };
  for (std::size_t i = group * size(); i < (group + 1) * size(); ++i) {
    const Ends of_item = ends(scores_[i], side);
    add(lower, of_item.first);
    add(higher, of_item.second);
  }
  if (!pairs_ || size() < 2) return {lower[0], higher[0]};
  const long double low = lower[0] + lower[1], high = higher[0] + higher[1];
  const long double largest = std::max(std::fabs(low), std::fabs(high)), unsure = side * two_roundings * largest;
  const long double more = upper(rounding_.pair(size_of(Quick{largest, 0}))) + unsure;
  return {low - more, high + more};
}

bool RouterChoice::may_choose(const std::vector<bool>& chosen, int side) const {
  long double least = std::numeric_limits<long double>::infinity();
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (chosen[i]) least = std::min(least, ends(scores_[i], side).second);
  }
  std::vector<bool> used(groups_), harmful(groups_);
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (chosen[i]) used[i / size()] = true;
    if (!chosen[i] && ends(scores_[i], side).first > least) harmful[i / size()] = true;
  }
  if (groups_ == 1) return !harmful[0];
  std::vector<Ends> groups;
  for (std::size_t g = 0; g < groups_; ++g) groups.push_back(ends_of_group(g, side));
  // The level: no group that is left out has a larger score, and no kept one a smaller score.
  std::vector<long double> levels{-std::numeric_limits<long double>::infinity()};
  for (const Ends& group : groups) levels.push_back(group.first);
  return std::ranges::any_of(levels, [&](long double level) {
    std::size_t needed = 0, possible = 0;
    for (std::size_t g = 0; g < groups_; ++g) {
      const bool may = groups[g].second >= level && !harmful[g], must = used[g] || groups[g].first > level;
      if (must && !may) return false;
      needed += must ? 1 : 0;
      possible += may ? 1 : 0;
    }
    return needed <= kept_ && kept_ <= possible;
  });
}

ValueFinding RouterChoice::set(std::string_view claim, std::span<const double> ids) const {
  std::vector<bool> chosen(scores_.size());
  std::size_t place = 0;
  for (std::size_t a = 0; a < ids.size(); ++a) {
    const auto item = static_cast<std::size_t>(ids[a]);
    chosen[item] = true;
    if (scores_[item].value < scores_[static_cast<std::size_t>(ids[place])].value) place = a;
  }
  const Decision decision = may_choose(chosen, -1)  ? Decision::proved
                            : may_choose(chosen, 1) ? Decision::undecided
                                                    : Decision::violated;
  const std::string_view reason = decision == Decision::proved ? ""
                                  : groups_ == 1
                                      ? "an item that is not chosen has a larger score"
                                      : "not of the best groups, or an unchosen item of these has a larger score";
  ValueFinding found{claim, ids.size() + place, Enclosure(0), ids[place], 0, decision, {}, true, reason};
  found.is_index = true;
  return found;
}

ValueFinding RouterChoice::order(std::string_view claim, std::span<const double> ids) const {
  Decision decision = Decision::proved;
  std::size_t place = 0;
  constexpr long double none = std::numeric_limits<long double>::infinity();
  std::array<long double, 2> least{none, none};  // of both sides
  for (std::size_t a = 0; a < ids.size() && decision == Decision::proved; ++a) {
    const Score& score = scores_[static_cast<std::size_t>(ids[a])];
    const Ends inner = ends(score, -1), outer = ends(score, 1);
    if (inner.first > least[0]) decision = outer.first > least[1] ? Decision::violated : Decision::undecided;
    if (decision != Decision::proved) place = a;
    least = {std::min(least[0], inner.second), std::min(least[1], outer.second)};
  }
  const std::string_view reason = decision == Decision::proved ? "" : "an item before it has a smaller score";
  ValueFinding found{claim, ids.size() + place, Enclosure(0), ids[place], 0, decision, {}, true, reason};
  found.is_index = true;
  return found;
}

std::vector<std::size_t> RouterChoice::items() const {
  const auto largest_first = [](const auto& value) {
    return [&value](std::size_t a, std::size_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; };
  };
  std::vector<std::size_t> groups(groups_), items;
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  std::vector<long double> of_group;
  for (const std::size_t g : groups) {
    std::vector<long double> scores;
    for (std::size_t i = g * size(); i < (g + 1) * size(); ++i) scores.push_back(scores_[i].value);
    std::ranges::sort(scores, std::greater());
    of_group.push_back(scores[0] + (pairs_ && size() > 1 ? scores[1] : 0));
  }
  std::ranges::sort(groups, largest_first([&](std::size_t g) { return of_group[g]; }));
  for (std::size_t g = 0; g < kept_; ++g) {
    for (std::size_t i = 0; i < size(); ++i) items.push_back(groups[g] * size() + i);
  }
  std::ranges::sort(items, largest_first([&](std::size_t i) { return scores_[i].value; }));
  items.resize(std::min(k_, items.size()));
  return items;
}

SigmoidElements::SigmoidElements(const RowInputs& row, std::span<const double> logits, std::string_view claim)
    : claim_(claim), logits_(logits), divides_(row.attributes.renormalize), rounding_(row.contract) {
  const SigmoidThreshold threshold(row.contract, 0);
  for (const double x : logits) {
    coefficients_.push_back(sigmoid_coefficient(threshold, x));
    const Coefficient& p = coefficients_.back();
    errors_ = {errors_.rounding + p.granted.rounding, errors_.floor + p.granted.floor};
    sum_ += p.value;
    unsure_ += p.unsure;
  }
  unsure_ += static_cast<long double>(logits.size()) * two_roundings * sum_;
  const long double least = sum_ - unsure_;
  over_chosen_ = least > 0x1p-1000L ? size_of(Quick{1 / least, two_roundings / least}) : UpperBound::infinity();
  promised = std::ranges::all_of(logits, [](double x) { return std::isinf(x); }) ||
             (std::isfinite(upper(error(0).total)) && (!divides_ || std::isfinite(over_chosen_.value())));
}

Enclosure SigmoidElements::value(std::size_t a) {
  const Enclosure p = sigmoid_of(logits_[a]);
  if (!divides_) return p;
  Enclosure sum(0);
  for (const double x : logits_) sum = sum + sigmoid_of(x);
  return p / sum;
}

Quick SigmoidElements::quick(std::size_t a) {
  const Coefficient& p = coefficients_[a];
  if (!divides_) return {p.value, p.unsure};
  const long double share = p.value / sum_;
  return {share, 2 * (p.unsure + share * unsure_) / sum_ + 2 * two_roundings * share};
}

RouterError SigmoidElements::error(std::size_t a) const {
  const Coefficient& p = coefficients_[a];
  const UpperBound size = size_of(Quick{p.value, p.unsure});
  const auto stored = [&](const UpperBound& weight, const RouterError& error) -> RouterError {
    return {rounding_.stored(weight, error.rounding, UpperBound(1)),
            rounding_.stored(weight, error.total, UpperBound(1))};
  };
  if (!divides_) return stored(size, {p.granted.rounding, p.granted.total()});
  return stored(size * over_chosen_, rounding_.share(size, p.granted, logits_.size(), errors_, over_chosen_));
}

ScaledElements::ScaledElements(RowElements& elements, double factor, const Contract& contract)
    : elements_(elements), factor_(factor), rounding_(contract) {
  promised = elements.promised;
  resolved = elements.resolved;
}

Quick ScaledElements::quick(std::size_t a) {
  const Quick inner = elements_.quick(a);
  const long double value = factor_ * inner.value;
  return {value, factor_ * inner.error + two_roundings * (value + factor_ * inner.error) + 0x1p-1070L};
}

double ScaledElements::threshold(std::size_t a) {
  const double allowed = elements_.threshold(a);
  if (allowed == infinity) return infinity;
  const UpperBound weight = size_of(elements_.quick(a));
  return upper(rounding_.stored(weight, UpperBound(allowed), UpperBound(factor_)));
}

}  // namespace softcheck::proptests
