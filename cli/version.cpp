#include <fmt/format.h>
#include <mpfi.h>
#include <mpfr.h>

#include "cli/exit_code.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {

void add_version_verb(Verb app) {
  struct NoFlags {};
  app.add_verb<NoFlags>("version", "Print the version, the commit and the libraries that decide", [](const NoFlags&) {
    const BuildInfo& build = this_build();
    say("softcheck {} (commit {}, {}, {})\n", build.version, build.commit, build.compiler, build.build_type);
    say("enclosures: MPFI {}, MPFR {}\n", mpfi_get_version(), mpfr_get_version());
    say("second oracle: {}\n", build.arb ? "Arb" : "absent (Arb was not found at build time)");
    return holds;
  });
}

}  // namespace softcheck::cli
