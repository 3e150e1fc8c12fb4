#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/query_gradient.hpp"
#include "numerics/oracles/attention_gradient_oracle.hpp"

namespace softcheck::proptests {

/// The exact p and dS of a group's queries as enclosures, computed once per working precision on first use.
class GroupOracles {
 public:
  /// Both must outlive this object.
  GroupOracles(const GradientGroup& group, const std::vector<std::shared_ptr<const QueryPairs>>& pairs)
      : group_(group), pairs_(pairs) {}

  /// The query must see a key.
  const numerics::QueryGradient& of(std::size_t query);

 private:
  numerics::QueryGradient make(std::size_t query) const;

  const GradientGroup& group_;
  const std::vector<std::shared_ptr<const QueryPairs>>& pairs_;
  // Key: precision and the query's pairs, which repeated queries share.
  std::map<std::pair<unsigned, const QueryPairs*>, std::unique_ptr<numerics::QueryGradient>> made_;
};

}  // namespace softcheck::proptests
