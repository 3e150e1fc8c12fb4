#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "judge/ops/rows/row_judge.hpp"

namespace softcheck::proptests {

/// The verdicts on the rows of one call. Rows with the same inputs and the same results, bit by bit, have the same
/// verdict: it is found once.
class RowVerdictCache {
 public:
  /// inputs   of the row, that of the logits first
  /// judge    called unless such a row was judged before
  /// returns  the verdicts; they live until the next call
  const RowVerdicts& verdicts(std::span<const std::vector<double>> inputs, std::span<const double> got,
                              const std::function<RowVerdicts()>& judge);

 private:
  std::unordered_map<std::string, RowVerdicts> known_;  // by the bytes of inputs and results
  std::size_t bytes_ = 0;
  RowVerdicts last_;
};

}  // namespace softcheck::proptests
