#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

/// Coefficients of H^0 ... H^4 in thousandths: exact in every scalar that holds the integers.
using QuarticThousandths = std::array<int, 5>;

/// P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791 (paper Fig. 4, eqs 15-18).
inline constexpr QuarticThousandths published_quartic{-1791, 4917, -2300, 481, -37};

/// The quartic at H, nats.
template <Scalar T>
T quartic(const T& entropy, const QuarticThousandths& thousandths = published_quartic) {
  T sum(thousandths[4]);
  for (int power = 3; power >= 0; --power) sum = sum * entropy + T(thousandths[power]);
  return sum / T(1000);
}

/// Its derivative.
template <Scalar T>
T quartic_slope(const T& entropy, const QuarticThousandths& thousandths = published_quartic) {
  T sum = T(4) * T(thousandths[4]);
  for (int power = 3; power >= 1; --power) sum = sum * entropy + T(power) * T(thousandths[power]);
  return sum / T(1000);
}

/// beta = max(P(H), 1) if H > 0.5 else 1: the inverse temperature of the paper's code.
///
/// entropy  of softmax of the logits, nats          returns  in [1, 2.42139]
template <OrderedScalar T>
T inverse_temperature(const T& entropy, const QuarticThousandths& thousandths = published_quartic) {
  if (!(entropy > ratio<T>(1, 2))) return T(1);
  const T value = quartic(entropy, thousandths);
  return value > T(1) ? value : T(1);
}

/// The same without the guard, which never changes the result (adaptive_temperature.dead_guard).
inline numerics::Enclosure inverse_temperature(const numerics::Enclosure& entropy,
                                               const QuarticThousandths& thousandths = published_quartic) {
  return maximum(quartic(entropy, thousandths), numerics::Enclosure(1));
}

/// beta > 1 exactly for entropies in (first, last). Enclosures at the working precision.
struct ActiveInterval {
  numerics::Enclosure first;       // 0.8485...
  numerics::Enclosure last;        // 5.9445... nats, perplexity 381.66
  numerics::Enclosure at_maximum;  // 4.4124...
  numerics::Enclosure maximum;     // 2.42138...
};

/// Certified roots of P - 1 and P', by Newton's interval method: to any precision.
ActiveInterval active_interval();

/// beta never exceeds this (the maximum, rounded up): Lemma 2.1 holds for adaptive softmax with this times delta.
inline constexpr const char* largest_beta = "2.42139";
/// From this entropy on, beta = 1 (the end of the active interval, rounded up).
inline constexpr const char* inactive_from = "5.94453";
/// |beta(H) - beta(H')| <= this |H - H'| (the slope at the end of the active interval, -2.525427, rounded up in size).
inline constexpr const char* lipschitz_constant = "2.52543";

/// Claims about the quartic alone:
///   adaptive_temperature.active_interval   P > 1 exactly on (0.848581996009869285, 5.944520827905142861), each digit
///   adaptive_temperature.maximum           2.42138770663152 at 4.41240186596567, each digit
///   adaptive_temperature.range             1 <= beta <= 2.42139
///   adaptive_temperature.dead_guard        P < 1 on [0, 0.5]
///   adaptive_temperature.inactive_for_two  P < 1 on [0, ln 2]
///   adaptive_temperature.lipschitz         |P'| <= 2.52543 on the active interval
std::vector<numerics::Certificate> certify_quartic(const QuarticThousandths& thousandths = published_quartic);

/// Claims about one row, with H the entropy of softmax(e / theta) and beta = max(P(H), 1):
///   .active_interval, .range   P(H) > 1 exactly if H lies in the interval; beta <= 2.42139
///   .dead_guard                the guard H > 0.5 changes nothing
///   .inactive_for_two          beta = 1 for the row of only its largest and smallest logit
///   .lipschitz                 for the entropies at theta and 2 theta
std::vector<numerics::Certificate> certify_beta(const LevelRow& row, double theta,
                                                const QuarticThousandths& thousandths = published_quartic);

/// Claims about softmax(beta e / theta), with delta the spread of the logits over theta:
///   .never_increases_entropy   H(softmax(beta e)) <= H(softmax(e))
///   .disperses                 every adaptive coefficient obeys Lemma 2.1, both forms, with 2.42139 delta
///   .identity                  beta = 1 once ln n - delta >= 5.94453: shown for this row repeated often enough, at a
///                              temperature where its spread is at most 1
std::vector<numerics::Certificate> certify_adaptive_softmax(const LevelRow& row, double theta,
                                                            const QuarticThousandths& thousandths = published_quartic);

/// .epsilon_gap: 0 <= H - H_eps <= 1e-9 n for the entropy of the paper's code, H_eps = -sum p log(p + 1e-9).
std::vector<numerics::Certificate> certify_epsilon_gap(const LevelRow& row, double theta);

/// All three.
///
/// logits   (n) finite or -inf          theta   > 0
std::vector<numerics::Certificate> certify_adaptive_temperature(std::span<const double> logits, double theta);

/// H - H_eps = sum p ln(1 + epsilon / p) of softmax(e / theta), at the working precision; in [0, epsilon n].
numerics::Enclosure epsilon_gap(const LevelRow& row, double theta, const numerics::Enclosure& epsilon);

}  // namespace softcheck::theory
