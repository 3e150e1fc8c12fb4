#include "proptests/judge/kernel_claims.hpp"

#include <algorithm>
#include <stdexcept>

#include "proptests/judge/calls/watched_kernel.hpp"

namespace softcheck::proptests {

std::vector<std::string> value_claims(Op op) { return {op->claims.begin(), op->claims.end()}; }

bool is_scalar_claim(Op op, std::string_view claim) {
  if (!op->attention && op->extents.empty()) return false;
  return claim.ends_with(".lse") || claim.ends_with(".entropy") || claim.ends_with(".dsinks");
}

std::vector<std::string> kernel_claims(Op op) {
  std::vector<std::string> claims = value_claims(op);
  claims.insert(claims.end(), WatchedKernel::claims().begin(), WatchedKernel::claims().end());
  for (const char* claim :
       {"kernel.accepts", "kernel.masked_row", "kernel.nan_row", "kernel.deterministic", "kernel.batch_invariant"}) {
    claims.emplace_back(claim);
  }
  if (!op->attention && op->takes_infinities && op->has_limit) claims.emplace_back("kernel.infinite_row");
  std::ranges::sort(claims);
  return claims;
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

}  // namespace softcheck::proptests
