#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "judge/verdict/value_certificate.hpp"

namespace softcheck::proptests {

/// A finding about a value that is right or wrong by what it is.
///
/// claim, reason   literals; the reason is that of a value that is wrong
ValueFinding identity_finding(std::string_view claim, bool holds, double got, std::optional<std::size_t> item,
                              std::string_view reason);

/// The first value that is a number, where every one is due as NaN; the first of them are elements of the output.
ValueFinding nan_finding(std::span<const double> got, std::size_t elements, std::string_view reason);

}  // namespace softcheck::proptests
