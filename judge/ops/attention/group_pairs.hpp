#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/query_gradient.hpp"
#include "numerics/oracles/attention_gradient_oracle.hpp"

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

/// The queries of one head in one batch, with their pairs. Not movable, because its parts point to each other.
struct HeadPairs {
  HeadPairs(const AttentionTask& task, GradientGroup of)
      : group(std::move(of)), pairs(task, group), oracles(group, pairs.all()) {}
  HeadPairs(const HeadPairs&) = delete;
  HeadPairs& operator=(const HeadPairs&) = delete;

  GradientGroup group;
  GroupPairs pairs;
  GroupOracles oracles;
};

}  // namespace softcheck::proptests
