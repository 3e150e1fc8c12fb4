#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/ops/rows/row_op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/domains/domain.hpp"

/// What the judge draws beside the logits of a loss, from RowCase::auxiliary.
namespace softcheck::proptests {

/// Bits of RowCase::auxiliary that all rows of a call share: each attribute is on or off.
inline constexpr std::uint64_t smoothing_bit = 1, z_loss_bit = 2, first_ignored_bit = 4, other_upstream_bit = 8,
                               softcap_bit = 16, class_weights_bit = 32;

/// The attributes of a call, and the label to ignore: one that no class has, of 64 bits or fewer, or the first class.
Attributes drawn_loss_attributes(std::uint64_t auxiliary, std::size_t classes);

/// One for each class, the same for all rows of a call: in [1/8, 8), and every sixteenth or so 0; none without their
/// bit.
std::vector<double> drawn_class_weights(numerics::Format format, std::size_t classes, std::uint64_t auxiliary);

/// The first and the last class, the likeliest and the least likely one, the one to ignore (not under no_ignored_bit),
/// or any.
double drawn_label(std::span<const double> logits, std::uint64_t auxiliary);

/// An upstream gradient other than 1, of either sign: small, near the format's least normal numbers, or near its
/// largest one.
///
/// bits   from which it follows
double drawn_upstream(numerics::Format format, std::uint64_t auxiliary, std::uint64_t bits);

/// Is the row's label, the first input beside the logits, the one to ignore?
bool has_ignored_label(const RowInputs& row);

/// The class weights of a row: the last input, of calls that have them.
///
/// before   how many others stand beside the logits
std::span<const double> class_weights_of(const RowInputs& row, std::size_t before);

/// What the domain leaves of the attributes of losses (RowOp::closed_auxiliaries), and what it sets of their labels.
std::uint64_t closed_loss_bits(const Domain& domain);
std::uint64_t set_loss_bits(const Domain& domain);

}  // namespace softcheck::proptests
