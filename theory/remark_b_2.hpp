#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/small_transformer.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {

// Remark B.2: Corollary B.1 through a whole Transformer, with or without residuals and MLPs. With X = [a, b, ..., b] of
// n tokens, and d_l the distance in the maximum norm at the input of layer l between a token b of X and the token of
// [b, ..., b] (whose activations do not depend on n, all its tokens being equal):
//
// BERT    The n - 1 tokens b stay equal. Each head gives z = v_b + alpha_a (v_a - v_b) with
//         alpha_a <= e^(delta/theta)/n, delta the bound of Theorem 2.2 for that head. So d_0 = 0 and
//           d_(l+1) <= G ((r + sum ||V||) d_l + sum e^(delta/theta)/n diam),
//         r = 1 with residual connections and else 0, ||V|| the largest row sum, diam the widest side of the box of the
//         head's values, G the Lipschitz constant of the MLP on its box. Hence d_L <= C/n with one C for all n.
//
// GPT     Token 1 is a and always differs; token i >= 2 is a b that sees a as one of i items, and the tokens before it,
//         which a has changed. With D_l(i) the distance for token i, D_0 = (|a - b|, 0, 0, ...):
//           D_(l+1)(i) <= G (r D_l(i) + sum ||V|| min(max_(j<=i) D_l(j), e^(delta/theta)/i sum_(j<=i) D_l(j))),
//         again because the output is a convex combination of the values. In closed form D_l(i) <= c_l (1 + ln i)^l /
//         i, c_0 = |a - b|, c_(l+1) = c_l G (r + sum ||V|| e^(delta/theta)): early tokens keep a difference, the last
//         one, from which a decoder classifies, loses it at the rate (ln n)^L / n.
//
// Nothing of this kind holds with residual connections for the last token of [b, ..., b, a] under a GPT mask, or for
// the token a itself under a BERT mask: a keeps its own activation. Remark C.1 covers models without residual
// connections.

/// What the two recurrences need of a layer, valid for all sequences: points, rounded up.
struct LayerGains {
  numerics::Enclosure feedforward;              // G
  std::vector<numerics::Enclosure> values;      // ||V||, for each head
  std::vector<numerics::Enclosure> diameters;   // diam, for each head
  std::vector<numerics::Enclosure> dispersion;  // e^(delta/theta), for each head
};

/// Bounds of the effect of a first token a on the tokens b after it.
class ForgettingBounds {
 public:
  /// a, b     symbols of the vocabulary
  /// throws   std::invalid_argument on an unknown symbol, or where some spread/theta > 600
  ForgettingBounds(const SmallTransformer& model, int a, int b);

  /// BERT: C of d_l <= C/n at the input of every layer and after the last, (depth + 1), C_0 = 0.
  std::vector<numerics::Enclosure> bert_constants() const;
  /// GPT: D_l(i) by the recurrence, (depth + 1, length).
  std::vector<std::vector<numerics::Enclosure>> gpt_distances(std::size_t length) const;
  /// GPT: c_l (depth + 1).
  std::vector<numerics::Enclosure> gpt_constants() const;
  /// GPT: c_l (1 + ln n)^l / n at any real n >= 1; falls with n once ln n >= l - 1.
  numerics::Enclosure gpt_closed_form(std::size_t layer, const numerics::Enclosure& length) const;

  /// A power of two n from which on the output differs by less than tolerance: d_L < tolerance for every longer input.
  ///
  /// tolerance   > 0: for instance half the distance of the output's nearest decision
  numerics::Enclosure forgetting_length(double tolerance) const;

  const std::vector<LayerGains>& layers() const { return layers_; }
  int first() const { return a_; }
  int other() const { return b_; }
  const SmallTransformer& model() const { return *model_; }

 private:
  const SmallTransformer* model_;
  int a_, b_;
  std::vector<LayerGains> layers_;
};

/// remark_b_2.bert: for each layer, n d_l <= C_l on [a, b, ..., b] with n = others + 1 tokens.
///
/// others      number of tokens b, >= 1, below 2^53; a and b differ
/// constants   the claimed bounds.bert_constants()
std::vector<numerics::Certificate> certify_bert_forgets(const ForgettingBounds& bounds, double others,
                                                        const std::vector<numerics::Enclosure>& constants);

/// remark_b_2.gpt: for each layer, D_l(i) observed <= D_l(i) by the recurrence, for all i <= n = others + 1 <= 512.
///
/// recurrence  the claimed bounds.gpt_distances(others + 1)
std::vector<numerics::Certificate> certify_gpt_forgets(const ForgettingBounds& bounds, std::size_t others,
                                                       const std::vector<std::vector<numerics::Enclosure>>& recurrence);

/// remark_b_2.gpt_closed_form: for each layer, D_l(i) by the recurrence <= c_l (1 + ln i)^l / i for all i <= n.
std::vector<numerics::Certificate> certify_gpt_closed_form(const ForgettingBounds& bounds, std::size_t length);

/// remark_b_2.forgets: at length, and at twice and four times it, the bound of the mask is < tolerance.
///
/// length      the claimed bounds.forgetting_length(tolerance)
std::vector<numerics::Certificate> certify_forgetting_length(const ForgettingBounds& bounds, double tolerance,
                                                             const numerics::Enclosure& length);

/// What holds for the mask of the network.
std::vector<numerics::Certificate> check_remark_b_2(const SmallTransformer& model, int a, int b, std::size_t others,
                                                    double tolerance);

}  // namespace softcheck::theory
