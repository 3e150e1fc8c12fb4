#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using Runs = std::vector<Run>;

/// One step to a simpler case. Each lowers (number of logits, number of runs, complexity of the numbers)
/// lexicographically, so every chain of shrinks is finite.
enum class RowWay {
  unit_theta,
  drop,                // `size` runs from `first` on
  counts_to_one,       // of all runs
  halve_counts,        // of all runs
  shift,               // the maximum to 0
  round_all,           // to `size` bits
  count_to_one,        // of run `first`
  subtract_count,      // `size` from run `first`
  take_next,           // run `first` takes the next run's value
  take_previous,       // the next run takes run `first`'s value
  simplify,            // run `first` takes its simpler number `size`
  simplify_theta,      // to its simpler number `size`
  simplify_auxiliary,  // to `size`
  pair                 // pair `first` of pairs_for(), with number `size` of auxiliaries_of_pairs()
};

struct RowStep {
  RowWay way;
  std::size_t first = 0;
  std::size_t size = 0;
};

std::vector<RowStep> steps_of(const RowCase& row_case) {
  const Runs& runs = row_case.row.runs();
  std::vector<RowStep> steps{{RowWay::unit_theta}};
  // Halves, quarters, ... single runs: finds a few failing runs among n in about log n evaluations.
  for (std::size_t size = (runs.size() + 1) / 2; size > 0; size /= 2) {
    for (std::size_t first = 0; first < runs.size(); first += size) steps.push_back({RowWay::drop, first, size});
  }
  steps.push_back({RowWay::counts_to_one});
  steps.push_back({RowWay::halve_counts});
  steps.push_back({RowWay::shift});
  for (std::size_t bits : {1, 2, 4, 8, 16, 32}) steps.push_back({RowWay::round_all, 0, bits});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].count == 1) continue;
    steps.push_back({RowWay::count_to_one, i});
    // Halves, quarters, ... single items: finds the smallest failing count by bisection.
    for (std::uint64_t less = runs[i].count / 2; less > 0; less /= 2)
      steps.push_back({RowWay::subtract_count, i, less});
  }
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    steps.push_back({RowWay::take_next, i});
    steps.push_back({RowWay::take_previous, i});
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t count = simpler_numbers(runs[i].value).size();
    for (std::size_t k = 0; k < count; ++k) steps.push_back({RowWay::simplify, i, k});
  }
  for (const std::uint64_t less : simpler_auxiliaries(row_case.auxiliary))
    steps.push_back({RowWay::simplify_auxiliary, 0, less});
  const std::size_t count = simpler_numbers(row_case.theta).size();
  for (std::size_t k = 0; k < count; ++k) steps.push_back({RowWay::simplify_theta, 0, k});
  if (row_case.row.size() <= 2) return steps;
  const std::size_t pairs = pairs_for(row_case.row, row_case.format).size();
  for (std::size_t k = 0; k < auxiliaries_of_pairs(row_case.auxiliary).size(); ++k) {
    for (std::size_t i = 0; i < pairs; ++i) steps.push_back({RowWay::pair, i, k});
  }
  return steps;
}

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

bool take_step(const RowStep& step, const RowCase& from, Runs& runs, double& theta, std::uint64_t& auxiliary) {
  const auto at = [&](std::size_t i) { return runs.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (step.way) {
    case RowWay::unit_theta:
      theta = 1;
      return from.theta != 1;
    case RowWay::drop:
      runs.erase(at(step.first), at(std::min(step.first + step.size, runs.size())));
      return true;
    case RowWay::counts_to_one:
      for (Run& run : runs) run.count = 1;
      return from.row.size() > runs.size();
    case RowWay::halve_counts:
      for (Run& run : runs) run.count = (run.count + 1) / 2;
      return from.row.size() > runs.size();
    case RowWay::shift:
      return change_values(runs, from.format, [top = from.row.maximum()](double x) { return x - top; });
    case RowWay::round_all:
      return change_values(runs, from.format,
                           [bits = static_cast<int>(step.size)](double x) { return round_to_bits(x, bits); });
    case RowWay::count_to_one:
      runs[step.first].count = 1;
      return true;
    case RowWay::subtract_count:
      runs[step.first].count -= step.size;
      return true;
    case RowWay::take_next:
      runs[step.first].value = runs[step.first + 1].value;
      return true;
    case RowWay::take_previous:
      runs[step.first + 1].value = runs[step.first].value;
      return true;
    case RowWay::simplify: {
      double& value = runs[step.first].value;
      const int before = complexity(value);
      value = numerics::round_to(from.format, simpler_numbers(value)[step.size]);
      return std::isfinite(value) && complexity(value) < before;
    }
    case RowWay::simplify_theta:
      theta = simpler_numbers(from.theta)[step.size];
      return theta > 0;
    case RowWay::simplify_auxiliary:
      auxiliary = step.size;
      return true;
    case RowWay::pair: {
      const std::array<double, 2> pair = pairs_for(from.row, from.format)[step.first];
      runs = {{pair[0], 1}, {pair[1], 1}};
      auxiliary = auxiliaries_of_pairs(from.auxiliary)[step.size];
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::uint64_t> simpler_auxiliaries(std::uint64_t auxiliary) {
  std::vector<std::uint64_t> simpler;
  if (auxiliary > 0) simpler = {0, auxiliary & 15, auxiliary & 63, auxiliary / 2, auxiliary - 1};
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
    Runs runs = from.row.runs();
    double theta = from.theta;
    std::uint64_t auxiliary = from.auxiliary;
    if (take_step((*steps)[k], from, runs, theta, auxiliary)) {
      result = RowCase{RunLengthRow(std::move(runs)), theta, from.format, from.family, auxiliary};
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
