#include "judge/trial/kernel_claims.hpp"

#include <algorithm>
#include <stdexcept>

#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

std::vector<std::string> value_claims(Op op) { return {op->claims.begin(), op->claims.end()}; }

bool is_scalar_claim(Op op, std::string_view claim) {
  if (!op->is_attention() && op->extents.empty()) return false;
  return claim.ends_with(".lse") || claim.ends_with(".entropy") || claim.ends_with(".dsinks");
}

std::vector<std::string> kernel_claims(Op op) {
  std::vector<std::string> claims = value_claims(op);
  claims.insert(claims.end(), WatchedKernel::claims().begin(), WatchedKernel::claims().end());
  for (const char* claim :
       {"kernel.accepts", "kernel.masked_row", "kernel.nan_row", "kernel.deterministic", "kernel.batch_invariant"}) {
    claims.emplace_back(claim);
  }
  if (!op->is_attention() && op->takes_infinities && op->has_limit) claims.emplace_back("kernel.infinite_row");
  std::ranges::sort(claims);
  return claims;
}

namespace {

// Can the first length exceed the second?
bool may_exceed(const LengthRange& length, const LengthRange& other) {
  const auto most = length.at_most(length.most), least = other.at_least(0);
  return most && least && *most > *least;
}

}  // namespace

bool may_see_nothing(const Domain& domain, bool gradient) {
  const LengthRange queries = domain.length("queries"), keys = domain.length("keys");
  if (domain.all_see && !gradient) return false;
  if (domain.has_fixed_mask()) return true;
  const bool fewer_queries = domain.equal_lengths || domain.fewer_queries, fewer_keys = domain.equal_lengths;
  if ((keys.contains(0) && !fewer_queries) || (gradient && queries.contains(0) && !fewer_keys)) return true;
  if (!domain.no_mask && !domain.has_sequences()) return true;
  const bool more_queries = !fewer_queries && may_exceed(queries, keys),
             more_keys = !fewer_keys && may_exceed(keys, queries);
  // Aligned to the last key, a window or causality hides all keys from the first queries if there are more queries than
  // keys. Aligned to the first key, causality shows every query that key, but hides the last keys from all queries if
  // there are more keys.
  const bool from_last = domain.causal != CausalAlignment::top_left,
             from_first = domain.causal != CausalAlignment::bottom_right;
  if (domain.window) return more_queries || (gradient && more_keys);
  if (domain.no_causal) return false;
  return (from_last && more_queries) || (from_first && gradient && more_keys);
}

std::set<std::string> parse_exemptions(const std::vector<std::string>& claims, Op op) {
  const std::vector<std::string> known = kernel_claims(op);
  for (const std::string& claim : claims) {
    if (std::ranges::find(known, claim) != known.end()) continue;
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw std::invalid_argument("--exempt: need one of " + list + ", got '" + claim + "'");
  }
  return {claims.begin(), claims.end()};
}

namespace {
constexpr const char* inner_merges =
    "merges of partial states inside a kernel: that parts add up to the whole follows from each value being within its "
    "threshold";
}  // namespace

std::vector<std::string> not_tried_of(const KernelSubject& subject, const JudgeOptions& options) {
  if (subject.op->is_attention()) {
    return {inner_merges, "the output in the query's place: no kernel of attention is asked for it"};
  }
  std::vector<std::string> result{
      inner_merges,
      "shifts, permutations, monotony in theta, the bounds of Lemma 2.1: no calls of their own, as the exact value has "
      "them and every value is judged against it"};
  if (subject.op->one_value_per_row) {
    result.push_back("the output in the input's place: one value for each row has no such place");
  } else if (!subject.op->may_be_in_place) {
    result.push_back("the output in an input's place: no kernel of this op is asked for it");
  } else if (!subject.required.in_place && !subject.required.over_out_gradient) {
    result.push_back("the output in the input's place: not required (--in-place)");
  }
  if (options.rows == 0) result.push_back("a million rows: --effort deep");
  return result;
}

}  // namespace softcheck::proptests
