// What turns the logits of a set into coefficients, and the gradient back: softmax and the ways out of its dispersion
// that the paper and its followers name. Templates over the scalar. Included by every lane and by heads.cpp, each
// compiled for other instructions: in an anonymous namespace, and without the standard library's templates, so that no
// linker takes the code of one for another's.

#include <cmath>
#include <cstddef>

#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

template <class Scalar>
Scalar largest_of(const Scalar* x, int n) {
  Scalar result = x[0];
  for (int i = 1; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

/// softmax of the items of x with keep(i); if there is a sink of logit 0, exp(-largest) is added to the sum.
template <class Scalar, class Keep>
void weigh(const Scalar* x, int n, Scalar largest, Scalar sum, Scalar* alpha, Keep keep) {
  using std::exp;
  for (int i = 0; i < n; ++i) {
    alpha[i] = keep(i) ? exp(x[i] - largest) : Scalar(0);
    sum += alpha[i];
  }
  for (int i = 0; i < n; ++i) alpha[i] /= sum;
}

/// Softmax of the top_k largest; of equal ones the first.
template <class Scalar>
void top_k_coefficients(const Scalar* x, int n, Scalar* alpha) {
  for (int i = 0; i < n; ++i) alpha[i] = 0;
  for (int taken = 0; taken < top_k && taken < n; ++taken) {
    int best = -1;
    for (int i = 0; i < n; ++i) {
      if (alpha[i] == Scalar(0) && (best < 0 || x[i] > x[best])) best = i;
    }
    alpha[best] = 1;
  }
  weigh(x, n, largest_of(x, n), Scalar(0), alpha, [alpha](int i) { return alpha[i] != Scalar(0); });
}

/// The threshold t at which the sum of [x - t]_+ (power 1) or of its squares (power 2) is 1: Newton's steps from below,
/// where the sum is convex and falls, never pass it.
template <class Scalar>
Scalar simplex_threshold(const Scalar* x, int n, int power) {
  Scalar t = largest_of(x, n) - Scalar(1);
  for (int round = 0; round < 64; ++round) {
    Scalar sum(0), slope(0);
    for (int i = 0; i < n; ++i) {
      const Scalar above = x[i] > t ? x[i] - t : Scalar(0);
      sum += power == 1 ? above : above * above;
      slope += power == 1 ? (x[i] > t ? Scalar(1) : Scalar(0)) : Scalar(2) * above;
    }
    const Scalar next = t + (sum - Scalar(1)) / slope;
    if (!(next > t)) break;
    t = next;
  }
  return t;
}

/// Sparsemax (Martins & Astudillo 2016): the nearest point of the simplex. Entmax-1.5 (Peters, Niculae & Martins 2019):
/// [x/2 - t]_+^2.
template <class Scalar>
void simplex_coefficients(const Scalar* x, int n, int power, Scalar* alpha) {
  for (int i = 0; i < n; ++i) alpha[i] = power == 1 ? x[i] : x[i] / Scalar(2);
  const Scalar t = simplex_threshold(alpha, n, power);
  for (int i = 0; i < n; ++i) {
    const Scalar above = alpha[i] > t ? alpha[i] - t : Scalar(0);
    alpha[i] = power == 1 ? above : above * above;
  }
}

/// relu(e^x - 1) / sum |e^x - 1| (Softpick, Zuhri et al. 2025), both parts times e^-m, m = max(largest, 0).
template <class Scalar>
void softpick_coefficients(const Scalar* x, int n, Scalar* alpha) {
  using std::exp;
  const Scalar top = largest_of(x, n), m = top > Scalar(0) ? top : Scalar(0), one = exp(-m);
  Scalar sum(0);
  for (int i = 0; i < n; ++i) {
    alpha[i] = exp(x[i] - m) - one;
    sum += alpha[i] < Scalar(0) ? -alpha[i] : alpha[i];
  }
  for (int i = 0; i < n; ++i) alpha[i] = alpha[i] > Scalar(0) ? alpha[i] / sum : Scalar(0);
}

/// x (n): logits, with their offset; alpha (n): coefficients.
template <class Scalar>
void head_coefficients(HeadKind kind, const Scalar* x, int n, Scalar* alpha) {
  using std::exp;
  using std::log;
  const auto all = [](int) { return true; };
  switch (kind) {
    case HeadKind::softmax:
      return weigh(x, n, largest_of(x, n), Scalar(0), alpha, all);
    case HeadKind::log_n: {
      const Scalar scale = log(Scalar(n)) / log(Scalar(log_n_reference));
      for (int i = 0; i < n; ++i) alpha[i] = scale * x[i];
      return weigh(alpha, n, largest_of(alpha, n), Scalar(0), alpha, all);
    }
    case HeadKind::top_k:
      return top_k_coefficients(x, n, alpha);
    case HeadKind::sink: {
      const Scalar top = largest_of(x, n), m = top > Scalar(0) ? top : Scalar(0);
      return weigh(x, n, m, Scalar(exp(-m)), alpha, all);
    }
    case HeadKind::sigmoid:
      for (int i = 0; i < n; ++i) alpha[i] = Scalar(1) / (Scalar(1) + exp(log(Scalar(log_n_reference)) - x[i]));
      return;
    case HeadKind::sparsemax:
      return simplex_coefficients(x, n, 1, alpha);
    case HeadKind::entmax:
      return simplex_coefficients(x, n, 2, alpha);
    case HeadKind::softpick:
      return softpick_coefficients(x, n, alpha);
  }
}

/// d (n): the gradient of alpha, replaced by that of x. Through d_i <- w_i (d_i - mean), the mean weighted by w as far
/// as the coefficients sum to a constant.
template <class Scalar>
void weighted_gradient(const Scalar* w, Scalar mean, int n, Scalar* d) {
  for (int i = 0; i < n; ++i) d[i] = w[i] * (d[i] - mean);
}

template <class Scalar>
void softpick_gradient(const Scalar* x, const Scalar* alpha, int n, Scalar* d) {
  using std::exp;
  const Scalar top = largest_of(x, n), m = top > Scalar(0) ? top : Scalar(0), one = exp(-m);
  Scalar sum(0), mean(0);
  for (int i = 0; i < n; ++i) {
    const Scalar part = exp(x[i] - m) - one;
    sum += part < Scalar(0) ? -part : part;
    mean += alpha[i] * d[i];
  }
  for (int i = 0; i < n; ++i) {
    const Scalar weight = exp(x[i] - m) / sum;
    d[i] = weight * (x[i] > Scalar(0) ? Scalar(d[i] - mean) : mean);
  }
}

template <class Scalar>
void head_gradient(HeadKind kind, const Scalar* x, const Scalar* alpha, int n, Scalar* d) {
  using std::log;
  using std::sqrt;
  Scalar total(0), mean(0);
  switch (kind) {
    case HeadKind::softmax:
    case HeadKind::log_n:
    case HeadKind::top_k:
    case HeadKind::sink:
      for (int i = 0; i < n; ++i) mean += alpha[i] * d[i];
      weighted_gradient(alpha, mean, n, d);
      if (kind == HeadKind::log_n) {
        for (int i = 0; i < n; ++i) d[i] *= log(Scalar(n)) / log(Scalar(log_n_reference));
      }
      return;
    case HeadKind::sigmoid:
      for (int i = 0; i < n; ++i) d[i] *= alpha[i] * (Scalar(1) - alpha[i]);
      return;
    case HeadKind::sparsemax:
      for (int i = 0; i < n; ++i) {
        total += alpha[i] > Scalar(0) ? Scalar(1) : Scalar(0);
        mean += alpha[i] > Scalar(0) ? d[i] : Scalar(0);
      }
      for (int i = 0; i < n; ++i) d[i] = alpha[i] > Scalar(0) ? d[i] - mean / total : Scalar(0);
      return;
    case HeadKind::entmax:  // d alpha / d x = diag(s) - s s^T / sum(s), s = sqrt(alpha)
      for (int i = 0; i < n; ++i) {
        total += sqrt(alpha[i]);
        mean += sqrt(alpha[i]) * d[i];
      }
      for (int i = 0; i < n; ++i) d[i] = sqrt(alpha[i]) * (d[i] - mean / total);
      return;
    case HeadKind::softpick:
      return softpick_gradient(x, alpha, n, d);
  }
}

}  // namespace
}  // namespace softcheck::experiments
