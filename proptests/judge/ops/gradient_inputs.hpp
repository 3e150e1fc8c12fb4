#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/format.hpp"

namespace softcheck::proptests {

/// What the forward pass saved, rounded to the format; the logits are finite. As a saved output may come from any
/// kernel, some are scaled, so that they add up to something else (softmax), or shifted (log-softmax).
///
/// beside   RowCase::beside: its low four bits choose the upstream gradient's kind, the next two what is done to y
std::vector<double> saved_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t beside);
std::vector<double> saved_log_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t beside);

/// An upstream gradient of n items: one item alone (0), constant, small, of random signs, alternating, over a wide
/// range of magnitudes, nearly constant, or one large item among small ones. Sums of products with y then hold one
/// term, cancel in the difference from each item, or cancel in themselves.
std::vector<double> upstream_gradient(numerics::Format format, std::size_t n, std::uint64_t beside);

}  // namespace softcheck::proptests
