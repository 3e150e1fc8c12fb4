#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/networks/network.hpp"
#include "proptests/generators/networks/normed_head.hpp"

namespace softcheck::proptests {

std::vector<Property> theorem_2_2_properties();

// The properties with any check in place of theirs: what a planted wrong version is made of.
using NetworkCheck = std::function<Certificates(const SmallNetworkCase&)>;
PropertyOf<SmallNetworkCase> activations_stay_in_their_boxes(NetworkCheck check);
PropertyOf<SmallNetworkCase> spreads_are_bounded(NetworkCheck check);
PropertyOf<SmallNetworkCase> every_head_disperses(NetworkCheck check);
PropertyOf<SmallNetworkCase> sharp_length_is_shorter(NetworkCheck check);

using NormedHeadCheck = std::function<Certificates(const NormedHeadCase&)>;
PropertyOf<NormedHeadCase> normed_heads_disperse(NormedHeadCheck check);

}  // namespace softcheck::proptests
