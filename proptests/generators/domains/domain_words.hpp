#pragma once

#include <span>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// What a word of domains is, and does.
struct DomainRow {
  DomainWord described;
  bool (*is_set)(const Domain& domain);
  void (*set)(Domain& domain) = nullptr;
  bool (*keeps)(const CallTraits& call) = nullptr;
  bool Domain::*other = nullptr;  // of the word that excludes it
};

/// All words, in the order in which to_string writes them.
std::span<const DomainRow> domain_rows();

}  // namespace softcheck::proptests
