#include "judge/inference/contract_grade.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "numerics/enclosures/decision.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// A row's threshold with and without the weaker words, and the used share.
struct GradedRow {
  double wide = 0, own = 0;
  double share = 0;  // of the wide threshold
  bool needs = false;
};

bool is_same_value(const ValueFinding& a, const ValueFinding& b) { return a.claim == b.claim && a.item == b.item; }

// Nothing if the two contracts have different worst values: their thresholds are then not comparable.
std::optional<GradedRow> graded(const Probe& probe, const Contract& found, const Contract& own) {
  const RowVerdicts wide = probe.judge(found), tight = probe.judge(own);
  if (wide.findings.empty() || tight.findings.empty()) return std::nullopt;
  const ValueFinding &a = wide.findings.front(), &b = tight.findings.front();
  GradedRow row{a.threshold, b.threshold, a.share(), false};
  row.needs =
      std::ranges::any_of(tight.findings, [](const ValueFinding& one) { return one.decision == Decision::violated; });
  if (!is_same_value(a, b)) row.wide = row.own;
  return row;
}

// The probability that a row with these thresholds breaks the tight one, if the kernel computes as the weaker words
// say. Rounding to fewer bits errs uniformly within half a last place, and so does the own arithmetic. A threshold
// grants the words' error to the item and to the sum, and a result has half of that: with w = (wide - own) / 2, a
// uniform in [-w, w] and b uniform in [-own, own], |a + b| exceeds own with probability 1 - own / w if w >= 2 own, and
// w / (4 own) otherwise.
double chance_to_need(const GradedRow& row) {
  const double w = (row.wide - row.own) / 2;
  if (!(w > 0)) return 0;
  if (!std::isfinite(w)) return 1;
  return w >= 2 * row.own ? 1 - row.own / w : w / (4 * row.own);
}

std::string short_share(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

}  // namespace

std::string ContractGrade::words() const {
  std::string text;
  for (const std::string& word : weaker) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string ContractGrade::text(Format dtype) const {
  if (is_own()) return "pass, as " + std::string(properties(dtype).name) + "'s own arithmetic allows";
  const std::string who = weaker.size() == 1 ? "it" : "them", whose = weaker.size() == 1 ? "its" : "their";
  const std::string counts = std::to_string(needing) + " of " + std::to_string(rows) + " rows need " + who +
                             ", the others use at most " + short_share(others_share) + " of " + whose + " thresholds";
  if (is_plausible()) return "pass only as " + words() + " (" + counts + ")";
  return "undecided, a bug or an unusual contract: passes only as " + words() + " (" + counts + "; " +
         std::to_string(static_cast<std::size_t>(expected)) + " would need " + who + " if the kernel computed so)";
}

ContractGrade grade_of(std::vector<std::string> weaker, const Contract& found, const Contract& own,
                       const std::vector<const ProbeSet*>& sets) {
  ContractGrade grade;
  grade.weaker = std::move(weaker);
  if (grade.is_own()) return grade;
  const PrecisionScope precision(113);
  double best = -1;
  for (const ProbeSet* set : sets) {
    double expected = 0, seen = 0;
    for (const Probe& probe : set->probes()) {
      const std::optional<GradedRow> row = graded(probe, found, own);
      if (!row) continue;
      ++grade.rows;
      grade.needing += row->needs ? 1 : 0;
      if (!row->needs) grade.others_share = std::fmax(grade.others_share, row->share);
      // Skip rows in which the words hardly add to the own arithmetic's error.
      const double chance = chance_to_need(*row);
      if (chance < 0.5) continue;
      expected += chance;
      seen += row->needs ? 1 : 0;
    }
    const double ratio = expected > 0 ? seen / expected : -1;
    if (ratio <= best) continue;
    best = ratio;
    grade.expected = expected;
    grade.seen = seen;
  }
  return grade;
}

}  // namespace softcheck::proptests
