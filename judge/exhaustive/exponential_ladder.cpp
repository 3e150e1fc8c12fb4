#include "judge/exhaustive/exponential_ladder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace softcheck::proptests {

using namespace numerics;

namespace {

constexpr std::array rungs{0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0};

}  // namespace

ExponentialLadder::ExponentialLadder(const KernelSubject& subject, const RowShape& shape)
    : subject_(subject), shape_(shape) {
  set_rung(0);
}

void ExponentialLadder::restore(std::size_t rung, std::string broken_at) {
  set_rung(std::min(rung, rungs.size()));
  broken_at_ = std::move(broken_at);
}

Contract ExponentialLadder::contract_of(std::size_t rung) const {
  Contract contract = subject_.contract;
  contract.exp_error = contract.log_error = 2 * rungs.at(rung);
  return contract;
}

void ExponentialLadder::set_rung(std::size_t rung) {
  rung_ = rung;
  quick_.reset();
  part_.reset();
  if (rung < rungs.size()) quick_.emplace(*subject_.op.rows().arguments(), contract_of(rung), shape_);
}

bool ExponentialLadder::holds(const EnumeratedRow& row) const {
  if (std::ranges::any_of(row.logits, [](double x) { return std::isnan(x); })) return true;
  const RowOpinion opinion = opinion_of(subject_.op, contract_of(rung_), row);
  return opinion.special || std::ranges::all_of(opinion.findings, [](const ValueFinding& finding) {
           return finding.decision == Decision::proved || finding.by_identity;
         });
}

void ExponentialLadder::judge(const QuickRows& contract, const QuickFindings& found_by_contract,
                              std::span<const double> logits, std::span<const double> got,
                              const std::function<EnumeratedRow(std::size_t)>& row,
                              const std::function<std::string(std::size_t)>& text) {
  // Rows that lower rungs proved also hold by a higher one; only the open rows need testing again.
  std::size_t first = 0;
  while (quick_) {
    if (!part_) part_ = contract.least_part(*quick_);
    const double share = std::fmax(found_by_contract.share, found_by_contract.row_sum_share);
    const QuickFindings found = share <= *part_ ? found_by_contract : quick_->judge(logits, got);
    const auto next = std::ranges::find_if(found.open, [&](std::size_t r) { return r >= first && !holds(row(r)); });
    if (next == found.open.end()) return;
    first = *next;
    broken_at_ = text(*next);
    while (rung_ < rungs.size() && !holds(row(*next))) ++rung_;
    set_rung(rung_);
  }
}

std::string ExponentialLadder::word() const {
  if (!quick_) return "";
  char text[64];
  if (subject_.contract.exp_argument_error == 1) {
    std::snprintf(text, sizeof text, "exp=%gulp", rungs[rung_]);
  } else {
    std::snprintf(text, sizeof text, "exp=E:%g,A:%g", 2 * rungs[rung_], subject_.contract.exp_argument_error);
  }
  return text;
}

}  // namespace softcheck::proptests
