#include <fmt/format.h>
#include <mpfi.h>
#include <mpfr.h>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>

#include "cli/build_info.hpp"
#include "cli/verbs.hpp"

namespace softcheck::cli {

#include "build_info.inc"

const BuildInfo& this_build() { return build_info; }

void add_version_verb(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("version", "Print the version, the commit and the libraries that decide");
  verb->callback([] {
    const BuildInfo& build = this_build();
    fmt::print("softcheck {} (commit {}, {}, {})\n", build.version, build.commit, build.compiler, build.build_type);
    fmt::print("enclosures: MPFI {}, MPFR {}, Boost.Multiprecision {}.{}.{}\n", mpfi_get_version(), mpfr_get_version(),
               BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
    fmt::print("second oracle: {}\n", build.arb ? "Arb" : "absent (Arb was not found at build time)");
  });
}

}  // namespace softcheck::cli
