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
#include "proptests/generators/rows/row.hpp"

/// The other inputs and attributes that the judge draws for a loss, from RowCase::auxiliary.
namespace softcheck::proptests {

/// Bits of RowCase::auxiliary that all rows of a call share; each switches an attribute on.
inline constexpr std::uint64_t smoothing_bit = 1, z_loss_bit = 2, first_ignored_bit = 4, other_upstream_bit = 8,
                               softcap_bit = 16, class_weights_bit = 32;

/// Set by a domain without -inf: no class is hidden.
inline constexpr std::uint64_t finite_logits_bit = 2 * domain_bit;

/// The attributes of a call. ignore_index is a number that is no class, of up to 64 bits, or the first class.
Attributes drawn_loss_attributes(std::uint64_t auxiliary, std::size_t classes);

/// One weight per class, the same for all rows of a call: in [1/8, 8), and about one in sixteen is 0. Empty without
/// their bit.
std::vector<double> drawn_class_weights(numerics::Format format, std::size_t classes, std::uint64_t auxiliary);

/// The first, last, likeliest or least likely class, the ignored one (never with domain_bit), or any other.
double drawn_label(std::span<const double> logits, std::uint64_t auxiliary);

/// The classes of a row whose logit is -inf: the last ones in all rows of the call, as where a vocabulary is padded, or
/// the last, the first, one or half of this row's. None with label smoothing, whose loss would be infinite, and none
/// with a softcap: tanh turns -inf into -1, and kernels differ on whether that class counts.
class HiddenClasses {
 public:
  /// format   of the logits
  HiddenClasses(numerics::Format format, std::size_t classes, std::uint64_t auxiliary);

  bool operator()(std::size_t j) const;
  /// The class, or the next visible one.
  std::size_t visible(std::size_t j) const;
  /// The logits with -inf for hidden classes.
  std::vector<double> hidden(std::span<const double> logits) const;
  /// May the row's label be hidden, too, if only its loss is asked for?
  bool may_hide_label() const { return kind_ == Kind::scattered && seed_ % 2 == 1; }

 private:
  enum class Kind { none, last, first, one, scattered };
  std::size_t classes_;
  std::uint64_t seed_;
  Kind kind_ = Kind::none;
};

/// The label, moved to a visible class if it is a class.
double visible_label(double label, const HiddenClasses& hidden, std::size_t classes);

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

/// An op of losses: -inf is the logit of a class with a coefficient of 0, and a term of weight 0 is 0.
class HiddenClassesOp : public RowOp {
 public:
  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override;
  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override;
  void grant(const RowInputs& row, std::span<double> allowed) const override;
  /// Values, unless a logit is infinite and hidden_due says otherwise. Only a loss may be infinite: nothing is due for
  /// the gradient of such a row.
  Due due(const RowInputs& row) const final;

 protected:
  using RowOp::RowOp;
  ~HiddenClassesOp() = default;

  /// Due::infinity if a term of positive weight is infinite. The row may have a logit of -inf, none of +inf.
  virtual Due hidden_due(const RowInputs& row) const = 0;
};

/// An op with labels and the attributes of a loss.
class LossOp : public HiddenClassesOp {
 public:
  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override;
  bool has_input(std::size_t k, std::uint64_t auxiliary) const override;
  bool ignores(const RowInputs& row) const override { return has_ignored_label(row); }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override;
  std::uint64_t set_auxiliaries(const Domain& domain) const override;

 protected:
  constexpr explicit LossOp(OpTraits traits) : HiddenClassesOp(of_losses(traits)) {}
  ~LossOp() = default;
  Due hidden_due(const RowInputs& row) const override;
  /// The weight of class j's term in the loss.
  virtual double weight_of_term(const RowInputs& row, std::size_t j) const;

 private:
  static constexpr OpTraits of_losses(OpTraits traits) {
    traits.has_theta = traits.takes_mask = traits.takes_infinities = false;
    traits.optional_theta = traits.saved_logarithms = true;
    traits.answers = {.words = loss_words, .expensive = true, .masked_rows = false};
    return traits;
  }
};

}  // namespace softcheck::proptests
