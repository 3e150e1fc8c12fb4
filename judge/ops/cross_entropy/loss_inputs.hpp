#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "judge/ops/rows/row_op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/domains/domain.hpp"

/// The other inputs and attributes that the judge draws for a loss, from RowCase::auxiliary.
namespace softcheck::proptests {

/// Bits of RowCase::auxiliary that all rows of a call share; each switches an attribute on.
inline constexpr std::uint64_t smoothing_bit = 1, z_loss_bit = 2, first_ignored_bit = 4, other_upstream_bit = 8,
                               softcap_bit = 16, class_weights_bit = 32;

/// The attributes of a call. ignore_index is a number that is no class, of up to 64 bits, or the first class.
Attributes drawn_loss_attributes(std::uint64_t auxiliary, std::size_t classes);

/// One weight per class, the same for all rows of a call: in [1/8, 8), and about one in sixteen is 0. Empty without
/// their bit.
std::vector<double> drawn_class_weights(numerics::Format format, std::size_t classes, std::uint64_t auxiliary);

/// The first, last, likeliest or least likely class, the ignored one (never with domain_bit), or any other.
double drawn_label(std::span<const double> logits, std::uint64_t auxiliary);

/// An upstream gradient of either sign that is not 1: small, near the format's smallest normal numbers, or near its
/// largest number. A function of `bits`.
double drawn_upstream(numerics::Format format, std::uint64_t auxiliary, std::uint64_t bits);

/// Is the row's label, its first auxiliary input, the ignored one?
bool has_ignored_label(const RowInputs& row);

/// The class weights of a row: the last input, if the call has them.
///
/// before   number of auxiliary inputs before them
std::span<const double> class_weights_of(const RowInputs& row, std::size_t before);

inline constexpr std::array<std::string_view, 3> loss_words{"lse", "total", "softcap"};
inline constexpr OpInput loss_class_weights{Role::class_weights, Extent::classes, false, NanReach::row, true};

/// An op with labels and the attributes of a loss.
class LossOp : public RowOp {
 public:
  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override;
  bool has_input(std::size_t k, std::uint64_t auxiliary) const override;
  bool ignores(const RowInputs& row) const override { return has_ignored_label(row); }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override;
  std::uint64_t set_auxiliaries(const Domain& domain) const override;

 protected:
  constexpr explicit LossOp(OpTraits traits) : RowOp(of_losses(traits)) {}
  ~LossOp() = default;

 private:
  static constexpr OpTraits of_losses(OpTraits traits) {
    traits.has_theta = traits.takes_mask = traits.takes_infinities = false;
    traits.optional_theta = true;
    traits.answers = {.words = loss_words, .expensive = true, .masked_rows = false};
    return traits;
  }
};

}  // namespace softcheck::proptests
