#include "library/build_info.hpp"

namespace softcheck {

#include "build_info.inc"

const BuildInfo& this_build() { return build_info; }

}  // namespace softcheck
