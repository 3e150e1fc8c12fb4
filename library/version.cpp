#include <string>

#include "library/build_info.hpp"
#include "library/include/softcheck/softcheck.h"

const char* softcheck_version(void) {
  static const std::string text = [] {
    const softcheck::BuildInfo& build = softcheck::this_build();
    return std::string(build.version) + " (commit " + std::string(build.commit) + ")";
  }();
  return text.c_str();
}
