#include "judge/ops/rows/row_verdict_cache.hpp"

#include <utility>

namespace softcheck::proptests {
namespace {

// Enough for the largest calls of default effort; rows beyond this are judged each time.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

void append(std::string& key, std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  const std::size_t size = values.size();
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

const RowVerdicts& RowVerdictCache::verdicts(std::span<const std::vector<double>> inputs, std::span<const double> got,
                                             const std::function<RowVerdicts()>& judge) {
  std::string key;
  for (const std::vector<double>& input : inputs) append(key, input);
  append(key, got);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  bytes_ += key.size();
  if (bytes_ > most_bytes) return last_ = judge();
  RowVerdicts verdicts = judge();
  return known_.emplace(std::move(key), std::move(verdicts)).first->second;
}

}  // namespace softcheck::proptests
