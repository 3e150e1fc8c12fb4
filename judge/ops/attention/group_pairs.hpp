#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/query_gradient.hpp"

namespace softcheck::proptests {

/// The contribution of each query of a group to the gradients, and the error that a kernel's may have.
class GroupPairs {
 public:
  /// The task and the group must outlive this object.
  GroupPairs(const AttentionTask& task, const GradientGroup& group);

  const std::vector<std::shared_ptr<const QueryPairs>>& all() const { return pairs_; }
  const QueryPairs& operator[](std::size_t query) const { return *pairs_[query]; }
  std::size_t size() const { return pairs_.size(); }
  bool is_chosen(std::size_t query) const { return group_.chosen.empty() || group_.chosen[query]; }
  /// dO of a query, (dv).
  std::span<const double> gradient_of(std::size_t query) const;
  const numerics::AttentionBackwardArithmetic& arithmetic() const { return arithmetic_; }

 private:
  void add(std::size_t query);
  // Do the numbers of the query matter: is it judged, and does it exist in its sequence?
  bool is_read(std::size_t query) const { return is_chosen(query) && (group_.absent.empty() || !group_.absent[query]); }
  SavedForward saved_of(std::size_t query) const;
  std::optional<double> lse_gradient_of(std::size_t query) const;
  QueryPairs make(std::size_t query) const;

  const AttentionTask& task_;
  const GradientGroup& group_;
  numerics::AttentionBackwardArithmetic arithmetic_;
  std::map<std::string, std::shared_ptr<const QueryPairs>> known_;
  std::vector<std::shared_ptr<const QueryPairs>> pairs_;
};

}  // namespace softcheck::proptests
