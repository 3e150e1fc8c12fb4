#pragma once

#include <string_view>

namespace softcheck {

/// How this binary was built. `softcheck version`, softcheck_version() and every report name it.
struct BuildInfo {
  std::string_view version;
  std::string_view commit;
  std::string_view compiler;
  std::string_view build_type;
  bool arb;
};

const BuildInfo& this_build();

}  // namespace softcheck
