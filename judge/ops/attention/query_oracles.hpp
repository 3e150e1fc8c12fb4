#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "numerics/oracles/attention_oracle.hpp"

namespace softcheck::proptests {

/// The judged results of a query, in the order of the ABI's outputs.
enum class AttentionClaim : std::size_t { output, lse, entropy };

/// The exact values of one query as enclosures, computed once per working precision on first use. Few queries need
/// them, so their inputs are copied on first use, too.
class QueryOracles {
 public:
  /// row    must outlive this object, like task and items
  /// items  the keys that the query sees; they and their values are finite. At least one, or a sink
  QueryOracles(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items);

  /// At the working precision.
  numerics::Enclosure value(AttentionClaim claim, std::size_t column);

 private:
  const numerics::AttentionOracle& now();
  void read_inputs();

  const AttentionTask& task_;
  const AttentionRow& row_;
  std::span<const std::size_t> items_;
  std::optional<numerics::EntropyDefinition> definition_;
  std::vector<double> keys_, values_, distances_, bias_, factors_;
  std::map<unsigned, std::unique_ptr<numerics::AttentionOracle>> oracles_;
  std::map<unsigned, std::vector<numerics::Enclosure>> outputs_;
  // Of differential attention.
  struct OtherMap {
    AttentionTask task;
    AttentionRow row;
    std::unique_ptr<QueryOracles> oracles;
  };
  std::unique_ptr<OtherMap> second_;
};

}  // namespace softcheck::proptests
