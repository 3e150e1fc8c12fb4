// Projections, whose coefficients are exactly 0 outside a support.
#include "judge/ops/projections/projection.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::uint64_t first_scaled = 2, at_the_edge = 5;
constexpr std::array<double, 3> largest_deviations{0.5, 1, 4};  // in units of the widest support

// Only the elements of a row that may differ from the exact value; all others are exactly 0.
class FreeElements final : public RowElements {
 public:
  FreeElements(RowElements& all, std::span<const std::size_t> places) : all_(all), places_(places) {
    promised = all.promised;
  }
  std::string_view claim() const override { return all_.claim(); }
  Enclosure value(std::size_t a) override { return all_.value(places_[a]); }
  Quick quick(std::size_t a) override { return all_.quick(places_[a]); }
  double threshold(std::size_t a) override { return all_.threshold(places_[a]); }
  double metric(std::size_t a, double magnitude) override { return all_.metric(places_[a], magnitude); }
  bool is_vacuous(std::size_t a, double metric) override { return all_.is_vacuous(places_[a], metric); }

 private:
  RowElements& all_;
  std::span<const std::size_t> places_;
};

}  // namespace

std::vector<double> supported_logits(Format format, std::span<const double> logits, std::uint64_t auxiliary,
                                     const SupportScale& scale) {
  std::vector<double> values(logits.begin(), logits.end());
  const std::uint64_t form = auxiliary % 8;
  double maximum = -infinity, minimum = infinity;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    maximum = std::max(maximum, x);
    minimum = std::min(minimum, x);
  }
  if (form < first_scaled || !std::isfinite(maximum)) return values;
  // The maximum is near 0 in even forms, and clamped to [-4, 4] in odd ones.
  const double base = form % 2 == 0 ? 0 : into_format(format, std::clamp(maximum, -4.0, 4.0));
  const double spread = std::max(maximum / 2 - minimum / 2, properties(Format::f64).smallest_normal);
  const std::size_t level = 1 + auxiliary / 8 % 4;  // items that share the largest logit
  const double edge = scale.edge(static_cast<double>(level));
  const double step = properties(format).unit_roundoff * std::max(1.0, base);
  std::size_t place = 0;
  for (double& x : values) {
    if (!std::isfinite(x)) continue;
    const std::size_t k = place++;
    const double deviation =
        form < at_the_edge ? (maximum / 2 - x / 2) / spread * (largest_deviations[form - first_scaled] * scale.unit)
        : k < level        ? 0
                           : edge + (static_cast<double>(k % 9) - 4) * step;
    x = into_format(format, base - deviation);
  }
  return values;
}

void judge_projection(const RowOp& op, const JudgedRow& row, RowElements& all, RowVerdicts& verdicts) {
  std::vector<std::size_t> places;
  std::vector<double> got;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    const bool masked = std::isinf(row.logits[i]), zero = masked || all.threshold(i) == 0;
    const bool wrong = all.promised && (zero ? row.got[i] != 0 || std::signbit(row.got[i]) : std::signbit(row.got[i]));
    if (wrong && !(std::isnan(row.got[i]) && !zero)) {
      const std::string_view reason = masked ? "a masked item"
                                      : zero ? "an item beyond the support"
                                             : "no coefficient is negative or -0";
      verdicts.findings.push_back({all.claim(), i, Enclosure(0), row.got[i], 0, Decision::violated, {}, false, reason});
      return;
    }
    if (zero) continue;
    places.push_back(i);
    got.push_back(row.got[i]);
  }
  FreeElements elements(all, places);
  const std::size_t before = verdicts.findings.size();
  judge_elements(op, Extent::vectors, {row, got}, elements, verdicts);
  for (std::size_t k = before; k < verdicts.findings.size(); ++k) {
    ValueFinding& found = verdicts.findings[k];
    if (found.item) found.item = places[*found.item];
    found.errors.worst_element = places[found.errors.worst_element];
  }
}

}  // namespace softcheck::proptests
