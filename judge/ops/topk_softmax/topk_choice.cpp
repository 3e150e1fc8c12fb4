#include "judge/ops/topk_softmax/topk_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/topk_softmax/router.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Bits of RowCase::auxiliary that all rows of a call share: the code of k, and renormalize.
constexpr std::uint64_t k_bits = 31, renormalize_bit = 32;
constexpr std::uint64_t first_large = 16, first_of_length = 24;
constexpr std::array<std::uint64_t, 8> large{20, 24, 32, 48, 60, 64, 100, 128};
// Longer rows have a small k: a kernel that searches the k largest one by one takes k n steps.
constexpr std::size_t most_of_length = 1024, chosen_of_longer = 64;

// For codes relative to the length: n, n - 1 or half of n, at least 1.
std::uint64_t of_length(std::uint64_t code, std::size_t n) {
  if (n > most_of_length) return chosen_of_longer;
  const std::uint64_t k = code < 28 ? n : code < 30 ? n - std::min<std::size_t>(n, 1) : (n + 1) / 2;
  return std::max<std::uint64_t>(k, 1);
}

// For the other codes, k itself; only these can be matched with a domain.
std::optional<std::uint64_t> named(std::uint64_t code) {
  if (code < first_large) return code + 1;
  if (code < first_of_length) return large[code - first_large];
  return std::nullopt;
}

// The codes of the k that the domain allows; all codes if it allows none that has a code.
std::vector<std::uint64_t> codes_of(const Domain& domain) {
  const LengthRange range = domain.length("k");
  std::vector<std::uint64_t> codes;
  for (std::uint64_t code = 0; code <= k_bits; ++code) {
    const auto k = named(code);
    if (k ? range.contains(*k) : range.everything()) codes.push_back(code);
  }
  if (codes.empty()) codes = {0, k_bits};
  return codes;
}

}  // namespace

Attributes drawn_choice(std::uint64_t auxiliary, std::size_t n) {
  const std::uint64_t code = auxiliary & k_bits, fixed = router_k(auxiliary);
  const std::uint64_t k = fixed > 0 ? fixed : named(code).value_or(of_length(code, n));
  Attributes attributes;
  attributes.k = static_cast<std::int32_t>(std::min<std::uint64_t>(k, n));
  attributes.renormalize = (auxiliary & renormalize_bit) != 0;
  return with_router(attributes, auxiliary, n);
}

std::uint64_t closed_choices(const Domain& domain) {
  std::uint64_t used = router_k(router_bits(domain)) > 0 ? k_bits : 0;
  for (const std::uint64_t code : codes_of(domain)) used |= code;
  return (k_bits & ~used) | (domain.plain_weights ? renormalize_bit : 0);
}

std::uint64_t set_choices(const Domain& domain) {
  std::uint64_t common = router_k(router_bits(domain)) > 0 ? 0 : k_bits;
  for (const std::uint64_t code : codes_of(domain)) common &= code;
  return common | (domain.renormalized ? renormalize_bit : 0) | router_bits(domain);
}

TopkChoice::TopkChoice(std::span<const double> logits, std::span<const double> ids, std::string_view set_claim,
                       std::string_view order_claim)
    : logits_(logits),
      ids_(ids),
      set_claim_(set_claim),
      order_claim_(order_claim),
      maximum_(*std::ranges::max_element(logits)) {}

std::optional<ValueFinding> TopkChoice::wrong_index() const {
  std::vector<bool> met(logits_.size());
  for (std::size_t a = 0; a < ids_.size(); ++a) {
    if (!is_item(ids_[a], logits_.size())) {
      return finding(set_claim_, a, Decision::violated, "an id is no item's index");
    }
    const auto item = static_cast<std::size_t>(ids_[a]);
    if (met[item]) return finding(set_claim_, a, Decision::violated, "an id stands twice");
    met[item] = true;
  }
  return std::nullopt;
}

std::vector<std::size_t> TopkChoice::items() const {
  std::vector<std::size_t> items;
  for (const double id : ids_) items.push_back(static_cast<std::size_t>(id));
  return items;
}

std::vector<double> TopkChoice::logits() const {
  std::vector<double> chosen;
  for (const std::size_t item : items()) chosen.push_back(logits_[item]);
  return chosen;
}

ValueFinding TopkChoice::set(const Contract& contract, const TopkThreshold<UpperBound>& granted) const {
  const std::vector<double> chosen = logits();
  const auto least = std::ranges::min_element(chosen);
  const auto place = static_cast<std::size_t>(least - chosen.begin());
  std::vector<bool> is_chosen(logits_.size());
  for (const std::size_t item : items()) is_chosen[item] = true;
  double largest_outside = -infinity;
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (!is_chosen[i]) largest_outside = std::max(largest_outside, logits_[i]);
  }
  const Decision decision = exchanged(largest_outside, *least, granted);
  if (decision != Decision::proved) {
    return finding(set_claim_, place, decision, "an item that is not chosen has a larger logit");
  }
  if (contract.ties == Ties::lowest) {
    if (const auto wrong = broken_tie()) {
      return finding(set_claim_, *wrong, Decision::violated, "an equal item of a lower index is not chosen");
    }
  }
  return finding(set_claim_, place, Decision::proved);
}

ValueFinding TopkChoice::order(const Contract& contract, const TopkThreshold<UpperBound>& granted) const {
  const std::vector<double> chosen = logits();
  double least = chosen[0];
  std::map<double, double> last;  // per logit, the last id that named it
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    const Decision decision = exchanged(chosen[a], least, granted);
    if (decision != Decision::proved)
      return finding(order_claim_, a, decision, "an item before it has a smaller logit");
    least = std::min(least, chosen[a]);
    if (contract.ties != Ties::lowest) continue;
    const auto [before, first] = last.try_emplace(chosen[a], ids_[a]);
    if (!first && ids_[a] < before->second) {
      return finding(order_claim_, a, Decision::violated, "an equal item before it has a higher index");
    }
    before->second = ids_[a];
  }
  return finding(order_claim_, 0, Decision::proved);
}

ValueFinding TopkChoice::finding(std::string_view claim, std::size_t place, Decision decision,
                                 std::string_view reason) const {
  const double shown = place < ids_.size() ? ids_[place] : 0;
  ValueFinding found{claim, ids_.size() + place, Enclosure(0), shown, 0, decision, {}, true, reason};
  found.is_index = true;
  return found;
}

Decision TopkChoice::exchanged(double higher, double lower, const TopkThreshold<UpperBound>& granted) const {
  if (!(higher > lower)) return Decision::proved;
  const UpperBound above = deviation_at_most(maximum_, higher, 1);
  // An item of -inf has coefficient exactly 0: only a coefficient that may underflow to 0 is not larger.
  const bool masked = std::isinf(lower);
  const double allowed = upper(granted.exchange(above, masked ? above : deviation_at_most(maximum_, lower, 1)));
  if (allowed == infinity) return Decision::proved;
  if (masked) return Decision::violated;
  return escalate([&] { return less_equal(Enclosure(higher) - Enclosure(lower), Enclosure(allowed)); });
}

// The place of a chosen item while an equal item with a lower index is not chosen.
std::optional<std::size_t> TopkChoice::broken_tie() const {
  std::map<double, std::size_t> highest;  // per chosen logit, the place of the highest index
  std::vector<bool> is_chosen(logits_.size());
  const std::vector<std::size_t> chosen = items();
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    is_chosen[chosen[a]] = true;
    const auto [found, first] = highest.try_emplace(logits_[chosen[a]], a);
    if (!first && chosen[found->second] < chosen[a]) found->second = a;
  }
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (is_chosen[i]) continue;
    const auto found = highest.find(logits_[i]);
    if (found != highest.end() && i < chosen[found->second]) return found->second;
  }
  return std::nullopt;
}

}  // namespace softcheck::proptests
