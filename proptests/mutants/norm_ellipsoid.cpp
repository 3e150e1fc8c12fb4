#include "theory/norm_ellipsoid.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_agreement;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::BallHead;
using Vector = std::vector<Enclosure>;

Vector enclosed(const Eigen::VectorXd& x) { return theory::as_scalars<Enclosure>(x); }

Enclosure mean_square_of(const Vector& x) { return theory::norm_square(x) / Enclosure(x.size()); }

Enclosure variance_of(const Vector& x) {
  const Enclosure d(x.size());
  Enclosure sum;
  for (const Enclosure& entry : x) sum += entry;
  return mean_square_of(x) - square(sum / d);
}

// |z|^2 by any formula of h and epsilon is below d - less.
RowCheck length_below(const std::string& claim, int less,
                      const std::function<Enclosure(const Vector&, const Enclosure&)>& length) {
  return decided_only([=](const RowCase& row_case) {
    const std::vector<double> input = row_case.row.expand();
    return Certificates{certify_less(claim, to_text(row_case), [&] {
      Vector h;
      for (const double entry : input) h.emplace_back(entry);
      return Sides{length(h, Enclosure(row_case.theta)), Enclosure(input.size()) - Enclosure(less)};
    })};
  });
}

// A head's vectors and logits at the current working precision.
struct Seen {
  explicit Seen(const BallHead& head)
      : bias(enclosed(head.at.query_bias)),
        query(theory::add(theory::multiply(head.at.query, enclosed(head.at.y)), bias)),
        joint_bias(theory::multiply(head.at.key.transpose(), bias)),
        keys(theory::multiply(head.at.key.transpose(), query)) {
    const Vector key_bias = enclosed(head.at.key_bias);
    for (Eigen::Index j = 0; j < head.at.items.rows(); ++j) {
      const Vector key = theory::add(theory::multiply(head.at.key, enclosed(head.at.items.row(j))), key_bias);
      logits.push_back(Enclosure(head.scale) * theory::dot(query, key));
      largest = maximum(largest, abs(logits.back()));
    }
  }

  Vector bias, query, joint_bias, keys;  // a, u = A z + a, B^T a, B^T u
  Vector logits;
  Enclosure largest;
};

using Form = std::function<Enclosure(const BallHead&, const Seen&)>;

BallCheck against(const char* claim, Enclosure (*observed)(const Seen&), const Form& form) {
  return [=](const ProjectionCase& projection) {
    Certificates all;
    for (const BallHead& head : ball_heads(projection)) {
      all.push_back(certify_less_equal(claim, theory::describe(head.at), [&] {
        const Seen seen(head);
        return Sides{observed(seen), form(head, seen)};
      }));
    }
    std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
    return all;
  };
}

Enclosure spread_of(const Seen& seen) { return theory::largest_difference(seen.logits); }
Enclosure largest_of(const Seen& seen) { return seen.largest; }

theory::WeightedFactor key_factor(const BallHead& head) {
  return {head.at.key, Vector(static_cast<std::size_t>(head.at.key.cols()), Enclosure(1))};
}

Enclosure without_factor_two(const BallHead& head, const Seen&) {
  const double lambda = theory::largest_square(head.query_ball(), key_factor(head), balanced_t(head));
  return theory::ellipsoid_spread(Enclosure(head.scale), Enclosure(head.key_square), Enclosure(lambda)) / Enclosure(2);
}

Enclosure without_query_bias(const BallHead& head, const Seen&) {
  theory::AffineBall ball = head.query_ball();
  ball.offset.setZero();
  const double lambda = theory::largest_square(ball, key_factor(head), 1);
  return theory::ellipsoid_spread(Enclosure(head.scale), Enclosure(head.key_square), Enclosure(lambda));
}

// As if (x + y)^2 <= x^2 + y^2: half of the bound with t = 1.
Enclosure without_cross_term(const BallHead& head, const Seen&) {
  const double lambda = theory::largest_square(head.query_ball(), key_factor(head), 1);
  return theory::ellipsoid_spread(Enclosure(head.scale), Enclosure(head.key_square), Enclosure(lambda) / Enclosure(2));
}

// An upper bound of sigma(B^T A).
Enclosure joint_sigma_of(const BallHead& head) {
  theory::EnclosedColumns columns;
  for (Eigen::Index j = 0; j < head.at.query.cols(); ++j) {
    columns.push_back(theory::multiply(head.at.key.transpose(), enclosed(head.at.query.col(j))));
  }
  return Enclosure(theory::sigma_of(theory::certified_sigma(), columns));
}

Enclosure joint_form(const BallHead& head, const Enclosure& bias_norm) {
  return theory::joint_spread(Enclosure(head.scale), joint_sigma_of(head), bias_norm, Enclosure(head.query_square),
                              Enclosure(head.key_square));
}

Enclosure folded_form(const BallHead& head, const Enclosure& bias_norm) {
  const auto sigma = theory::certified_sigma();
  return theory::folded_spread(Enclosure(head.scale), Enclosure(sigma(head.at.query)), Enclosure(sigma(head.at.key)),
                               bias_norm, Enclosure(head.query_square), Enclosure(head.key_square));
}

Enclosure joint_with_bias_as_it_is(const BallHead& head, const Seen& seen) {
  return joint_form(head, sqrt(theory::norm_square(seen.bias)));
}

Enclosure folded_without_bias(const BallHead& head, const Seen&) { return folded_form(head, Enclosure(0)); }

Enclosure logit_without_key_bias(const BallHead& head, const Seen& seen) {
  return theory::query_logit(Enclosure(head.scale), Enclosure(0), theory::norm_square(seen.keys),
                             Enclosure(head.key_square));
}

// The distance from the centre to one key instead of that between two keys.
Certificates half_way_attained(const ProjectionCase& projection) {
  Certificates all;
  for (const BallHead& head : ball_heads(projection)) {
    all.push_back(certify_agreement("norm_ellipsoid.attained", theory::describe(head.at), [&] {
      const Vector keys = Seen(head).keys;
      const Enclosure square = theory::norm_square(keys), scale(head.scale), rk(head.key_square);
      const Enclosure between = Enclosure(2) * scale * sqrt(rk / square) * theory::dot(keys, keys);
      return Sides{between, scale * sqrt(rk * square)};
    }));
  }
  std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
  return all;
}

Certificates folded_below_joint(const ProjectionCase& projection) {
  Certificates all;
  for (const BallHead& head : ball_heads(projection)) {
    all.push_back(certify_less_equal("norm_ellipsoid.ordering", theory::describe(head.at), [&] {
      const Seen seen(head);
      return Sides{folded_form(head, sqrt(theory::norm_square(seen.bias))),
                   joint_form(head, sqrt(theory::norm_square(seen.joint_bias)))};
    }));
  }
  std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
  return all;
}

}  // namespace

std::vector<PlantedVersion> norm_ellipsoid_planted() {
  const auto over_deviation = [](const Vector& h, const Enclosure& epsilon) {
    return theory::norm_square(h) / (variance_of(h) + epsilon);
  };
  const auto true_length = [](const Vector& h, const Enclosure& epsilon) {
    const Enclosure variance = variance_of(h);
    return Enclosure(h.size()) * variance / (variance + epsilon);
  };
  return {
      {"does not subtract the mean",
       norms_end_in_the_ball(length_below("norm_ellipsoid.layer_norm", 0, over_deviation))},
      {"takes the ball of d - 1 for that of d",
       norms_end_in_the_ball(length_below("norm_ellipsoid.layer_norm", 1, true_length))},
      {"divides by the deviation from a mean that it does not subtract",
       norms_end_in_the_ball(length_below("norm_ellipsoid.rms_norm", 0, over_deviation))},
      {"forgets the factor 2",
       ball_spreads_within_forms(against("norm_ellipsoid.spread", spread_of, without_factor_two))},
      {"forgets the query bias",
       ball_spreads_within_forms(against("norm_ellipsoid.spread", spread_of, without_query_bias))},
      {"forgets the cross term of the ellipsoid",
       ball_spreads_within_forms(against("norm_ellipsoid.spread", spread_of, without_cross_term))},
      {"takes the query bias without the keys' projection",
       ball_spreads_within_forms(against("norm_ellipsoid.joint", spread_of, joint_with_bias_as_it_is))},
      {"forgets the query bias",
       ball_spreads_within_forms(against("norm_ellipsoid.folded", spread_of, folded_without_bias))},
      {"takes the way to one key for that between two", opposite_keys_attain_the_spread(half_way_attained)},
      {"forgets the key bias",
       ball_logits_within_forms(against("norm_ellipsoid.logit", largest_of, logit_without_key_bias))},
      {"orders the folded form below the joint one", sharper_ball_forms_are_not_wider(folded_below_joint)},
  };
}

}  // namespace softcheck::proptests
