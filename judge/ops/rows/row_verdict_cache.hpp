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

/// The verdicts on the rows of one call. Rows with bitwise equal inputs and results share one verdict.
class RowVerdictCache {
 public:
  /// inputs   of the row, the logits first
  /// judge    called if no such row was judged before
  /// returns  the verdicts, valid until the next call
  const RowVerdicts& verdicts(std::span<const std::vector<double>> inputs, std::span<const double> got,
                              const std::function<RowVerdicts()>& judge);

 private:
  std::unordered_map<std::string, RowVerdicts> known_;  // key: the bytes of inputs and results
  std::size_t bytes_ = 0;
  RowVerdicts last_;
};

}  // namespace softcheck::proptests
