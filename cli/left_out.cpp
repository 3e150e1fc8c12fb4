// Linked in place of campaign.cpp, run.cpp and report.cpp by `./run command`: their verbs would take a third of its
// time.

#include <fmt/format.h>

#include <string>

#include "cli/exit_code.hpp"
#include "cli/verbs.hpp"

namespace softcheck::cli {
namespace {

void add_left_out(Verb app, const std::string& name, const std::string& text) {
  struct NoFlags {};
  const auto refuse = [name] {
    throw InputError(unsupported, fmt::format("{}: not in this build; in a clone, ./run command all builds it", name));
  };
  auto [verb, flags] =
      app.add_verb<NoFlags>(name, text + " (not in this build: ./run command all)", [refuse](const NoFlags&) {
        refuse();
        return unsupported;
      });
  verb.refuse_words([refuse](const std::string&) {
    refuse();
    return "";
  });
}

}  // namespace

void add_campaign_verb(Verb app) {
  add_left_out(app, "campaign", "Judge kernels, certify models and train networks by a plan");
}
void add_run_verb(Verb app) { add_left_out(app, "run", "Reproduce a table or a figure"); }
void add_report_verb(Verb app) {
  add_left_out(app, "report", "Collect what softcheck run has written into one HTML page");
}

}  // namespace softcheck::cli
