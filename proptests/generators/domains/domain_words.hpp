#pragma once

#include <span>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// A word of domains and what it does.
struct DomainRow {
  DomainWord described;
  bool (*is_set)(const Domain& domain);
  void (*set)(Domain& domain) = nullptr;
  bool (*keeps)(const CallTraits& call) = nullptr;
  bool Domain::*other = nullptr;    // the flag of the opposite word
  double Domain::*bound = nullptr;  // the number that follows the word
};

/// All words, in the order of to_string.
std::span<const DomainRow> domain_rows();

}  // namespace softcheck::proptests
