#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/networks/network.hpp"

namespace softcheck::proptests {

std::vector<Property> remark_c_1_properties();

// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<SmallNetworkCase> rows_differ_by_dispersion(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> residuals_keep_the_spread(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> next_spread_is_bounded(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> dispersed_layer_averages(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> no_later_spread(std::function<Certificates(const SmallNetworkCase&)> check);

}  // namespace softcheck::proptests
