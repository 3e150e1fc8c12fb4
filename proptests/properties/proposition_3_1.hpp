#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "theory/proposition_3_1.hpp"

namespace softcheck::proptests {

std::vector<Property> proposition_3_1_properties();

/// The case as drawn and, since random items are far from any bound, three that come close to one:
/// - two opposite items along K^T (Q y + b_Q): the direct form is attained;
/// - the query all bias, y = 0: the biased form lives by ||b_Q|| alone;
/// - K = Q without biases, y near the top singular vector of Q and the items as before: every form is nearly attained.
std::vector<theory::QueryAndItems> with_near_extremal(const ProjectionCase& projection);

/// Two opposite items along K^T (Q y + b_Q) in place of all others: they attain the direct form.
void oppose_items(theory::QueryAndItems& input);
/// x in 16 bits an entry, those 2^-32 below the largest dropped: 512 bits then tell the finest near-tie.
Eigen::VectorXd shortened(const Eigen::VectorXd& x);

// The properties with any check in place of theirs: what a planted wrong version is made of.
using ProjectionCheck = std::function<Certificates(const ProjectionCase&)>;
PropertyOf<ProjectionCase> spreads_within_forms(ProjectionCheck check);
PropertyOf<ProjectionCase> sharper_forms_are_not_wider(ProjectionCheck check);

}  // namespace softcheck::proptests
