#include <fmt/format.h>
#include <mpfi.h>
#include <mpfr.h>

#include "cli/build_info.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"

namespace softcheck::cli {

#include "build_info.inc"

const BuildInfo& this_build() { return build_info; }

void add_version_verb(Verb app, int&) {
  Verb verb = app.add_subcommand("version", "Print the version, the commit and the libraries that decide");
  verb.callback([] {
    const BuildInfo& build = this_build();
    say("softcheck {} (commit {}, {}, {})\n", build.version, build.commit, build.compiler, build.build_type);
    say("enclosures: MPFI {}, MPFR {}\n", mpfi_get_version(), mpfr_get_version());
    say("second oracle: {}\n", build.arb ? "Arb" : "absent (Arb was not found at build time)");
  });
}

}  // namespace softcheck::cli
