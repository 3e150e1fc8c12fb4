#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "proptests/generators/networks/network.hpp"
#include "proptests/generators/networks/normed_head.hpp"
#include "proptests/generators/rows/merge_tree.hpp"
#include "proptests/properties/ball_heads.hpp"
#include "proptests/properties/row_levels.hpp"
#include "theory/corollary_b_1.hpp"
#include "theory/proposition_3_1.hpp"
#include "theory/streaming_entropy.hpp"

namespace softcheck::proptests {

// Those of each result, in NAME.cpp.
std::vector<Property> lemma_2_1_properties();
std::vector<Property> entropy_bounds_properties();
std::vector<Property> theorem_2_2_properties();
std::vector<Property> proposition_3_1_properties();
std::vector<Property> proposition_3_2_properties();
std::vector<Property> streaming_entropy_properties();
std::vector<Property> adaptive_temperature_properties();
std::vector<Property> corollary_b_1_properties();
std::vector<Property> remark_b_2_properties();
std::vector<Property> remark_c_1_properties();
std::vector<Property> norm_ellipsoid_properties();
std::vector<Property> rotary_positions_properties();
std::vector<Property> attention_variants_properties();
std::vector<Property> sigmoid_attention_properties();
std::vector<Property> differential_attention_properties();

// The properties with any check instead of their own, for planted wrong versions.

PropertyOf<RowCase> coefficients_lie_within_bounds(RowCheck check);
PropertyOf<RowCase> sharp_bounds_are_attained(RowCheck check);
PropertyOf<RowCase> coefficients_vanish_beyond_the_dispersion_length(RowCheck check);

PropertyOf<RowCase> entropy_lies_between_floor_and_ceiling(RowCheck check);
PropertyOf<RowCase> no_entropy_is_below_the_sharp_floor(RowCheck check);

using NetworkCheck = std::function<Certificates(const SmallNetworkCase&)>;
PropertyOf<SmallNetworkCase> activations_stay_in_their_boxes(NetworkCheck check);
PropertyOf<SmallNetworkCase> spreads_are_bounded(NetworkCheck check);
PropertyOf<SmallNetworkCase> every_head_disperses(NetworkCheck check);
PropertyOf<SmallNetworkCase> sharp_length_is_shorter(NetworkCheck check);

using NormedHeadCheck = std::function<Certificates(const NormedHeadCase&)>;
PropertyOf<NormedHeadCase> normed_heads_disperse(NormedHeadCheck check);

/// The case as drawn and, since random items are far from any bound, three cases near a bound:
/// - two opposite items along K^T (Q y + b_Q), which attain the direct form
/// - a query that is all bias, y = 0: only ||b_Q|| contributes to the biased form
/// - K = Q without biases, y near the top singular vector of Q and the same items: nearly attains every form
std::vector<theory::QueryAndItems> with_near_extremal(const ProjectionCase& projection);

/// Replaces all items by two opposite ones along K^T (Q y + b_Q), which attain the direct form.
void oppose_items(theory::QueryAndItems& input);
/// x with 16 bits per entry, without entries 2^-32 below the largest: 512 bits then resolve the closest near-ties.
Eigen::VectorXd shortened(const Eigen::VectorXd& x);

using ProjectionCheck = std::function<Certificates(const ProjectionCase&)>;
PropertyOf<ProjectionCase> spreads_within_forms(ProjectionCheck check);
PropertyOf<ProjectionCase> sharper_forms_are_not_wider(ProjectionCheck check);

PropertyOf<RowCase> derivatives_are_moments(RowCheck check);
PropertyOf<RowCase> entropy_falls_as_beta_grows(RowCheck check);

using MergeCheck = std::function<Certificates(const MergeTreeCase&)>;
PropertyOf<RowCase> recurrence_gives_the_entropy(RowCheck check);
PropertyOf<RowCase> states_form_a_monoid(RowCheck check);
PropertyOf<MergeTreeCase> every_tree_gives_the_entropy(MergeCheck check);
/// format   f32, f64 or bf16
PropertyOf<MergeTreeCase> rounding_stays_within_its_bound(numerics::Format format, MergeCheck check);

/// The cuts and merges of a drawn tree in the theory's form.
theory::MergePlan plan_of(const MergeTreeCase& merge_case);

PropertyOf<RowCase> beta_is_active_on_its_interval(RowCheck check);
PropertyOf<RowCase> adaptive_softmax_is_sharper_and_still_disperses(RowCheck check);
PropertyOf<RowCase> paper_entropy_is_short_by_epsilon_n(RowCheck check);

/// A float format, a spread and two values, one of which the format must lose.
struct FormatCollapse {
  theory::CollapseCase input;
};

/// "collapse f32 spread=0x1p+1 theta=0x1p+0 first=0x1p+0 other=0x0p+0"
std::string to_text(const FormatCollapse& collapse);
void from_text(std::string_view text, FormatCollapse& collapse);
std::size_t size_of(const FormatCollapse& collapse);
void showValue(const FormatCollapse& collapse, std::ostream& stream);

/// All formats with equal probability; spreads from 0 to 200 theta; half of the values are powers of two, where a
/// format's spacing changes; lengths up to 2^400.
rc::Gen<FormatCollapse> format_collapses();

PropertyOf<FormatCollapse> loses_one_token(std::function<Certificates(const FormatCollapse&)> check);
PropertyOf<FormatCollapse> output_collapses(std::function<Certificates(const FormatCollapse&)> check);

PropertyOf<SmallNetworkCase> bert_forgets(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> gpt_forgets(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> forgets_below_every_tolerance(std::function<Certificates(const SmallNetworkCase&)> check);

PropertyOf<SmallNetworkCase> rows_differ_by_dispersion(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> residuals_keep_the_spread(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> next_spread_is_bounded(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> dispersed_layer_averages(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> no_later_spread(std::function<Certificates(const SmallNetworkCase&)> check);

// The norm's input is the row, and its epsilon is the row's theta.
PropertyOf<RowCase> norms_end_in_the_ball(RowCheck check);
PropertyOf<ProjectionCase> ball_spreads_within_forms(BallCheck check);
PropertyOf<ProjectionCase> opposite_keys_attain_the_spread(BallCheck check);
PropertyOf<ProjectionCase> ball_logits_within_forms(BallCheck check);
PropertyOf<ProjectionCase> sharper_ball_forms_are_not_wider(BallCheck check);

PropertyOf<ProjectionCase> turns_keep_weighted_lengths(BallCheck check);
PropertyOf<ProjectionCase> rotary_logits_within_forms(BallCheck check);
PropertyOf<ProjectionCase> rotary_spreads_within_forms(BallCheck check);
PropertyOf<ProjectionCase> qk_norm_logits_within_form(BallCheck check);

/// Sinks for a row: at its ends, in between, and four theta above and below.
std::vector<double> sinks_of(const RowCase& row_case);

// The logits' cap is the row's theta.
PropertyOf<RowCase> windows_keep_coefficients_up(RowCheck check);
PropertyOf<RowCase> sinks_take_from_the_items(RowCheck check);
PropertyOf<RowCase> sinks_count_as_items(RowCheck check);
PropertyOf<RowCase> caps_bound_logits(RowCheck check);

PropertyOf<RowCase> fixed_biases_keep_coefficients(RowCheck check);
PropertyOf<RowCase> length_biases_disperse(RowCheck check);
PropertyOf<RowCase> differences_lie_within_bounds(RowCheck check);
PropertyOf<RowCase> shares_disperse(RowCheck check);
PropertyOf<RowCase> a_single_gain_keeps_half(RowCheck check);

}  // namespace softcheck::proptests
