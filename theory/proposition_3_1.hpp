#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "theory/enclosed_matrix.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

// Proposition 3.1: the spread delta = max e_j - min e_j of the logits e_j = q . k_j of one query is bounded by the
// singular values of its projections. In the paper q = Q y, k_j = K x_j and
//
//   paper       delta <= 2 sigma(Q) sigma(K) ||y|| max ||x_j||.
//
// A trained model has e_j = (Q y + b_Q) . (K x_j + b_K) / sqrt(d), d the number of rows of Q. The key bias adds the
// same to every logit and cancels, e_j - e_k = (Q y + b_Q) . K (x_j - x_k) / sqrt(d), and so
//
//   biased      delta <= 2/sqrt(d) (sigma(Q) ||y|| + ||b_Q||) sigma(K) max ||x_j||
//   difference  delta <= 1/sqrt(d) ||Q y + b_Q|| sigma(K) max ||x_j - x_k||
//   joint       delta <= 1/sqrt(d) (sigma(K^T Q) ||y|| + ||K^T b_Q||) max ||x_j - x_k||
//   direct      delta <= 1/sqrt(d) ||K^T (Q y + b_Q)|| max ||x_j - x_k||
//
// by Cauchy-Schwarz, with direct <= joint <= biased and direct <= difference <= biased.

/// One query and its items.
struct QueryAndItems {
  Eigen::MatrixXd query;       // Q (d, width of y)
  Eigen::VectorXd query_bias;  // b_Q (d)
  Eigen::MatrixXd key;         // K (d, width of x)
  Eigen::VectorXd key_bias;    // b_K (d)
  Eigen::VectorXd y;
  Eigen::MatrixXd items;  // (n, width of x), n >= 1
};

/// The terms of the forms. Lengths are stored as squares, which are exact for dyadic numbers.
template <Scalar T>
struct SpreadTerms {
  T sigma_query = T(0), sigma_key = T(0);  // upper bounds of sigma(Q), sigma(K)
  T sigma_joint = T(0);                    // of sigma(K^T Q), at most their product
  T query_square = T(0);                   // ||y||^2
  T bias_square = T(0);                    // ||b_Q||^2
  T joint_bias_square = T(0);              // ||K^T b_Q||^2
  T projected_square = T(0);               // ||Q y + b_Q||^2
  T direct_square = T(0);                  // ||K^T (Q y + b_Q)||^2
  T item_square = T(0);                    // max ||x_j||^2
  T difference_square = T(0);              // max ||x_j - x_k||^2
  int dimension = 1;                       // d
};

/// (sigma ||y|| + ||b||)^2 from the squares.
template <Scalar T>
T sum_square(const T& sigma, const T& square, const T& bias_square) {
  return sigma * sigma * square + bias_square + T(2) * sigma * sqrt(square * bias_square);
}

// The squares of the forms, those after the first without their factor 1/d.
template <Scalar T>
T paper_square(const SpreadTerms<T>& t) {
  const T sigmas = t.sigma_query * t.sigma_key;
  return T(4) * (sigmas * sigmas) * (t.query_square * t.item_square);
}
template <Scalar T>
T biased_square(const SpreadTerms<T>& t) {
  return T(4) * sum_square(t.sigma_query, t.query_square, t.bias_square) * (t.sigma_key * t.sigma_key) * t.item_square;
}
template <Scalar T>
T difference_square(const SpreadTerms<T>& t) {
  return t.projected_square * (t.sigma_key * t.sigma_key) * t.difference_square;
}
template <Scalar T>
T joint_square(const SpreadTerms<T>& t) {
  return sum_square(t.sigma_joint, t.query_square, t.joint_bias_square) * t.difference_square;
}
template <Scalar T>
T direct_square(const SpreadTerms<T>& t) {
  return t.direct_square * t.difference_square;
}

/// The bounds themselves, in the unit of the logits.
template <Scalar T>
struct SpreadForms {
  T paper, biased, difference, joint, direct;
};
template <Scalar T>
SpreadForms<T> spread_forms(const SpreadTerms<T>& t) {
  const T d = T(t.dimension);
  return {sqrt(paper_square(t)), sqrt(biased_square(t) / d), sqrt(difference_square(t) / d), sqrt(joint_square(t) / d),
          sqrt(direct_square(t) / d)};
}

/// Spreads of the exact logits: without biases and scale, and with biases but not yet divided by sqrt(d).
template <Scalar T>
struct ObservedSpreads {
  T paper, biased;
};

/// throws   std::invalid_argument naming the function when shapes do not fit, there is no item or an entry is not
/// finite
void require_shapes(const char* function, const QueryAndItems& input);
/// "Q [...] bQ [...] K [...] bK [...] y [...] items [...]": the input of a certificate, in hex floats.
std::string describe(const QueryAndItems& input);

/// One query's terms at the current working precision; the constructor computes sigma once.
class SpreadEvaluation {
 public:
  /// throws   std::invalid_argument when shapes do not fit, there is no item or an entry is not finite
  SpreadEvaluation(QueryAndItems input, const SigmaUpper& sigma = certified_sigma());

  SpreadTerms<numerics::Enclosure> terms() const;
  ObservedSpreads<numerics::Enclosure> observed() const;
  /// The scaled spread of a trained model: observed().biased / sqrt(d).
  numerics::Enclosure observed_scaled() const;
  const QueryAndItems& input() const { return input_; }
  const std::string& witness() const { return witness_; }

 private:
  QueryAndItems input_;
  double sigma_query_, sigma_key_, sigma_joint_;
  std::string witness_;
};

/// proposition_3_1.paper, .biased, .difference, .joint, .direct: the observed spread is at most the form.
std::vector<numerics::Certificate> certify_spread_forms(const SpreadEvaluation& evaluation);

/// proposition_3_1.ordering, four times: no sharper form exceeds a wider one.
std::vector<numerics::Certificate> certify_form_ordering(const SpreadEvaluation& evaluation);

/// Both.
std::vector<numerics::Certificate> check_proposition_3_1(const QueryAndItems& input,
                                                         const SigmaUpper& sigma = certified_sigma());

}  // namespace softcheck::theory
