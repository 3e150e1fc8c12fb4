#pragma once

#include <string_view>

namespace softcheck {

/// What made this binary: printed by `softcheck version`, written into every report, and softcheck_version() of the
/// library.
struct BuildInfo {
  std::string_view version;
  std::string_view commit;
  std::string_view compiler;
  std::string_view build_type;
  bool arb;
};

const BuildInfo& this_build();

}  // namespace softcheck
