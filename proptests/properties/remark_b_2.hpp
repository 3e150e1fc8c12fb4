#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/networks/network.hpp"

namespace softcheck::proptests {

std::vector<Property> remark_b_2_properties();

// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<SmallNetworkCase> bert_forgets(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> gpt_forgets(std::function<Certificates(const SmallNetworkCase&)> check);
PropertyOf<SmallNetworkCase> forgets_below_every_tolerance(std::function<Certificates(const SmallNetworkCase&)> check);

}  // namespace softcheck::proptests
