#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>

#include "cli/verb.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::cli {

/// The format that a flag names.
/// throws   InputError (usage) naming the flag
numerics::Format dtype_of(const std::string& flag, const std::string& text);

/// --op, whose help names every op.
void add_op_flag(Verb verb, std::string& op);

/// " (exempt: kernel.nan_row)" for a verdict's line; "" if no claim is exempt.
template <class Claims>
std::string exemptions_text(const Claims& exempt) {
  return exempt.empty() ? "" : fmt::format(" (exempt: {})", fmt::join(exempt, ", "));
}

/// ", about 12 s left" after the job has run for some seconds; "" before.
std::string time_left_text(std::size_t done, std::size_t all, double seconds);

}  // namespace softcheck::cli
