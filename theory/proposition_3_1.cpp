#include "theory/proposition_3_1.hpp"

#include <algorithm>
#include <stdexcept>

#include "theory/vectors.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

using Vector = std::vector<Enclosure>;

// sigma(K^T Q), and never above the product of the two.
double joint_sigma(const QueryAndItems& input, const SigmaUpper& sigma, double sigma_query, double sigma_key) {
  const numerics::PrecisionScope scope(113);
  const Eigen::MatrixXd transposed = input.key.transpose();
  EnclosedColumns columns;
  for (Eigen::Index j = 0; j < input.query.cols(); ++j) {
    columns.push_back(multiply(transposed, as_scalars<Enclosure>(input.query.col(j))));
  }
  return std::min(sigma_of(sigma, columns), (Enclosure(sigma_query) * Enclosure(sigma_key)).upper_double());
}

Certificate certify_form(const SpreadEvaluation& evaluation, const char* claim,
                         Enclosure (*form_square)(const SpreadTerms<Enclosure>&), bool scaled) {
  return certify_less_equal(claim, evaluation.witness(), [&evaluation, form_square, scaled] {
    const SpreadTerms<Enclosure> terms = evaluation.terms();
    const auto observed = evaluation.observed();
    const Enclosure& spread = scaled ? observed.biased : observed.paper;
    const Enclosure bound_square = form_square(terms);
    const Enclosure d = scaled ? Enclosure(terms.dimension) : Enclosure(1);
    return Sides{spread / sqrt(d), sqrt(bound_square / d), root_difference(bound_square, square(spread))};
  });
}

}  // namespace

void require_shapes(const char* function, const QueryAndItems& in) {
  const bool fit = in.query.rows() == in.key.rows() && in.query_bias.size() == in.query.rows() &&
                   in.key_bias.size() == in.key.rows() && in.y.size() == in.query.cols() &&
                   in.items.cols() == in.key.cols() && in.items.rows() >= 1 && in.query.rows() >= 1;
  const bool finite = in.query.allFinite() && in.key.allFinite() && in.query_bias.allFinite() &&
                      in.key_bias.allFinite() && in.y.allFinite() && in.items.allFinite();
  if (!fit || !finite) {
    throw std::invalid_argument(std::string(function) +
                                ": need Q (d, p), K (d, r), biases (d), y (p), items (n >= 1, r), all finite");
  }
}

std::string describe(const QueryAndItems& in) {
  return "Q " + text_of(in.query) + " bQ " + text_of(in.query_bias) + " K " + text_of(in.key) + " bK " +
         text_of(in.key_bias) + " y " + text_of(in.y) + " items " + text_of(in.items);
}

SpreadEvaluation::SpreadEvaluation(QueryAndItems input, const SigmaUpper& sigma) : input_(std::move(input)) {
  require_shapes("SpreadEvaluation", input_);
  sigma_query_ = sigma(input_.query);
  sigma_key_ = sigma(input_.key);
  sigma_joint_ = joint_sigma(input_, sigma, sigma_query_, sigma_key_);
  witness_ = describe(input_);
}

SpreadTerms<Enclosure> SpreadEvaluation::terms() const {
  SpreadTerms<Enclosure> terms;
  const Eigen::MatrixXd transposed_key = input_.key.transpose();
  const Vector y = as_scalars<Enclosure>(input_.y);
  const Vector bias = as_scalars<Enclosure>(input_.query_bias);
  const Vector projected = add(multiply(input_.query, y), bias);
  terms.dimension = static_cast<int>(input_.query.rows());
  terms.sigma_query = Enclosure(sigma_query_);
  terms.sigma_key = Enclosure(sigma_key_);
  terms.sigma_joint = minimum(Enclosure(sigma_joint_), terms.sigma_query * terms.sigma_key);
  terms.query_square = norm_square(y);
  terms.bias_square = norm_square(bias);
  terms.joint_bias_square = norm_square(multiply(transposed_key, bias));
  terms.projected_square = norm_square(projected);
  terms.direct_square = norm_square(multiply(transposed_key, projected));
  for (Eigen::Index j = 0; j < input_.items.rows(); ++j) {
    const Vector item = as_scalars<Enclosure>(input_.items.row(j).transpose());
    terms.item_square = maximum(terms.item_square, norm_square(item));
    for (Eigen::Index k = 0; k < j; ++k) {
      const Vector other = as_scalars<Enclosure>(-input_.items.row(k).transpose());
      terms.difference_square = maximum(terms.difference_square, norm_square(add(item, other)));
    }
  }
  return terms;
}

ObservedSpreads<Enclosure> SpreadEvaluation::observed() const {
  const Vector plain = multiply(input_.query, as_scalars<Enclosure>(input_.y));
  const Vector biased = add(plain, as_scalars<Enclosure>(input_.query_bias));
  std::vector<Enclosure> plain_logits, biased_logits;
  for (Eigen::Index j = 0; j < input_.items.rows(); ++j) {
    const Vector key = multiply(input_.key, as_scalars<Enclosure>(input_.items.row(j).transpose()));
    plain_logits.push_back(dot(plain, key));
    biased_logits.push_back(dot(biased, add(key, as_scalars<Enclosure>(input_.key_bias))));
  }
  return {largest_difference(plain_logits), largest_difference(biased_logits)};
}

Enclosure SpreadEvaluation::observed_scaled() const {
  return observed().biased / sqrt(Enclosure(static_cast<int>(input_.query.rows())));
}

std::vector<Certificate> certify_spread_forms(const SpreadEvaluation& evaluation) {
  return {certify_form(evaluation, "proposition_3_1.paper", paper_square<Enclosure>, false),
          certify_form(evaluation, "proposition_3_1.biased", biased_square<Enclosure>, true),
          certify_form(evaluation, "proposition_3_1.difference", difference_square<Enclosure>, true),
          certify_form(evaluation, "proposition_3_1.joint", joint_square<Enclosure>, true),
          certify_form(evaluation, "proposition_3_1.direct", direct_square<Enclosure>, true)};
}

std::vector<Certificate> certify_form_ordering(const SpreadEvaluation& evaluation) {
  using Terms = SpreadTerms<Enclosure>;
  const auto order = [&evaluation](const char* which, Enclosure SpreadForms<Enclosure>::*sharper,
                                   Enclosure SpreadForms<Enclosure>::*wider, const auto& gap) {
    return certify_less_equal("proposition_3_1.ordering", std::string(which) + " " + evaluation.witness(), [&] {
      const Terms terms = evaluation.terms();
      const SpreadForms<Enclosure> forms = spread_forms(terms);
      return Sides{forms.*sharper, forms.*wider, gap(terms)};
    });
  };
  // Each gap is a sum of terms of one sign, without the factor 1/sqrt(d), and exactly 0 in a tie. With
  // D = 2 max ||x|| >= r = max ||x_j - x_k||: D a - r b = D (a - b) + (D - r) b.
  const auto widened = [](const Terms& t, const Enclosure& excess, const Enclosure& sharper) {
    const Enclosure diameter_square = Enclosure(4) * t.item_square;
    return sqrt(diameter_square) * excess + root_difference(diameter_square, t.difference_square) * sharper;
  };
  using Forms = SpreadForms<Enclosure>;
  return {
      order("direct <= difference", &Forms::direct, &Forms::difference,
            [](const Terms& t) {
              return sqrt(t.difference_square) *
                     root_difference(square(t.sigma_key) * t.projected_square, t.direct_square);
            }),
      order("direct <= joint", &Forms::direct, &Forms::joint,
            [](const Terms& t) {
              return sqrt(t.difference_square) *
                     root_difference(sum_square(t.sigma_joint, t.query_square, t.joint_bias_square), t.direct_square);
            }),
      order("difference <= biased", &Forms::difference, &Forms::biased,
            [&](const Terms& t) {
              const Enclosure sum = sum_square(t.sigma_query, t.query_square, t.bias_square);
              return t.sigma_key * widened(t, root_difference(sum, t.projected_square), sqrt(t.projected_square));
            }),
      order("joint <= biased", &Forms::joint, &Forms::biased,
            [&](const Terms& t) {
              const Enclosure excess = (t.sigma_query * t.sigma_key - t.sigma_joint) * sqrt(t.query_square) +
                                       root_difference(square(t.sigma_key) * t.bias_square, t.joint_bias_square);
              return widened(t, excess, t.sigma_joint * sqrt(t.query_square) + sqrt(t.joint_bias_square));
            }),
  };
}

std::vector<Certificate> check_proposition_3_1(const QueryAndItems& input, const SigmaUpper& sigma) {
  const SpreadEvaluation evaluation(input, sigma);
  std::vector<Certificate> result = certify_spread_forms(evaluation);
  for (Certificate& certificate : certify_form_ordering(evaluation)) result.push_back(std::move(certificate));
  return result;
}

}  // namespace softcheck::theory
