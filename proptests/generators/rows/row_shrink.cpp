#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using Runs = std::vector<Run>;

// What a step changes of a case.
struct RowParts {
  Runs runs;
  double theta;
  std::uint64_t auxiliary;
};

/// One step to a simpler case; false if it is none. Each lowers (number of logits, number of runs, complexity of the
/// numbers) lexicographically, so every chain of shrinks is finite.
using RowStep = std::function<bool(RowParts&)>;

long complexity_of(const Runs& runs) {
  return std::accumulate(runs.begin(), runs.end(), 0L,
                         [](long sum, const Run& run) { return sum + complexity(run.value); });
}

/// Changes all visible values; false unless the numbers stay finite and become simpler.
template <class Change>
bool change_values(Runs& runs, numerics::Format format, Change change) {
  const long before = complexity_of(runs);
  for (Run& run : runs) {
    if (!std::isfinite(run.value)) continue;
    run.value = numerics::round_to(format, change(run.value));
    if (!std::isfinite(run.value)) return false;  // beyond the format's largest number
  }
  return complexity_of(runs) < before;
}

// A step that is always one.
template <class Change>
RowStep always(Change change) {
  return [=](RowParts& to) {
    change(to);
    return true;
  };
}

bool simplify(double& value, numerics::Format format, std::size_t which) {
  const int before = complexity(value);
  value = numerics::round_to(format, simpler_numbers(value)[which]);
  return std::isfinite(value) && complexity(value) < before;
}

std::vector<RowStep> steps_of(const RowCase& row_case) {
  const Runs& runs = row_case.row.runs();
  const numerics::Format format = row_case.format;
  const bool has_counts = row_case.row.size() > runs.size();
  std::vector<RowStep> steps{[](RowParts& to) { return std::exchange(to.theta, 1) != 1; }};
  // Halves, quarters, ... single runs: finds a few failing runs among n in about log n evaluations.
  for (std::size_t size = (runs.size() + 1) / 2; size > 0; size /= 2) {
    for (std::size_t first = 0; first < runs.size(); first += size) {
      steps.push_back(always([=](RowParts& to) {
        const auto begin = to.runs.begin() + static_cast<std::ptrdiff_t>(first);
        to.runs.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, to.runs.size() - first)));
      }));
    }
  }
  // One item a run, then half of each.
  for (const std::uint64_t most : {std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()}) {
    steps.push_back([=](RowParts& to) {
      for (Run& run : to.runs) run.count = std::min(most, (run.count + 1) / 2);
      return has_counts;
    });
  }
  steps.push_back([=, top = row_case.row.maximum()](RowParts& to) {
    return change_values(to.runs, format, [=](double x) { return x - top; });
  });
  for (const int bits : {1, 2, 4, 8, 16, 32}) {
    steps.push_back(
        [=](RowParts& to) { return change_values(to.runs, format, [=](double x) { return round_to_bits(x, bits); }); });
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].count == 1) continue;
    steps.push_back(always([=](RowParts& to) { to.runs[i].count = 1; }));
    // Halves, quarters, ... single items: finds the smallest failing count by bisection.
    for (std::uint64_t less = runs[i].count / 2; less > 0; less /= 2) {
      steps.push_back(always([=](RowParts& to) { to.runs[i].count -= less; }));
    }
  }
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    steps.push_back(always([=](RowParts& to) { to.runs[i].value = to.runs[i + 1].value; }));
    steps.push_back(always([=](RowParts& to) { to.runs[i + 1].value = to.runs[i].value; }));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t count = simpler_numbers(runs[i].value).size();
    for (std::size_t k = 0; k < count; ++k) {
      steps.push_back([=](RowParts& to) { return simplify(to.runs[i].value, format, k); });
    }
  }
  for (const std::uint64_t less : simpler_auxiliaries(row_case.auxiliary)) {
    steps.push_back(always([=](RowParts& to) { to.auxiliary = less; }));
  }
  for (const double theta : simpler_numbers(row_case.theta)) {
    steps.push_back([=](RowParts& to) { return (to.theta = theta) > 0; });
  }
  if (row_case.row.size() <= 2) return steps;
  for (const std::uint64_t auxiliary : auxiliaries_of_pairs(row_case.auxiliary)) {
    for (const std::array<double, 2>& pair : pairs_for(row_case.row, format)) {
      steps.push_back(always([=](RowParts& to) { to = {{{pair[0], 1}, {pair[1], 1}}, to.theta, auxiliary}; }));
    }
  }
  return steps;
}

}  // namespace

std::vector<std::uint64_t> simpler_auxiliaries(std::uint64_t auxiliary) {
  std::vector<std::uint64_t> simpler;
  const std::uint64_t of_domain = auxiliary & domain_bits, drawn = auxiliary - of_domain;
  if (drawn > 0) simpler = {0, drawn & 15, drawn & 63, drawn / 2, drawn - 1};
  for (std::uint64_t& one : simpler) one += of_domain;
  std::erase_if(simpler, [&](std::uint64_t one) { return one >= auxiliary; });
  return simpler;
}

std::vector<std::array<double, 2>> pairs_for(const RunLengthRow& row, numerics::Format format) {
  std::vector<std::array<double, 2>> pairs;
  const auto add = [&](double a, double b) {
    pairs.push_back({a, b});
    pairs.push_back({b, a});
  };
  if (row.visible() > 0) add(row.minimum(), row.maximum());
  for (const double distance : {0x1p+0, 0x1p-1, 0x1p+1, 0x1p-3, 0x1p+3, 0x1p+6}) {
    if (numerics::round_to(format, distance) == distance) add(0, distance);
  }
  return pairs;
}

std::vector<std::uint64_t> auxiliaries_of_pairs(std::uint64_t auxiliary) {
  std::vector<std::uint64_t> auxiliaries{auxiliary};
  if (auxiliary == 0) return auxiliaries;
  constexpr std::uint64_t kinds = 64;
  for (const std::uint64_t label : {0, 1, 3, 4}) {
    const std::uint64_t other = auxiliary % kinds + kinds * label;
    if (other != auxiliary) auxiliaries.push_back(other);
  }
  return auxiliaries;
}

rc::Seq<RowCase> shrink_row_case(const RowCase& row_case, const RowOptions& options) {
  const auto steps = std::make_shared<const std::vector<RowStep>>(steps_of(row_case));
  return lazy_shrinks(row_case, steps->size(), [steps, options](const RowCase& from, std::size_t k) {
    std::optional<RowCase> result;
    RowParts parts{from.row.runs(), from.theta, from.auxiliary};
    if ((*steps)[k](parts)) {
      result = RowCase{RunLengthRow(std::move(parts.runs)), parts.theta, from.format, from.family, parts.auxiliary};
      // In a domain of few lengths hardly any step reaches one: round down to one.
      if (!options.domain.everything() && result->row.size() < from.row.size()) {
        result = conformed(options, *result);
        if (result->row.size() >= from.row.size()) result.reset();
      }
      if (result && !admits(options, *result)) result.reset();
    }
    return result;
  });
}

}  // namespace softcheck::proptests
