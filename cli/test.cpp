#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "proptests/registry.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct TestFlags {
  CaseFlags cases;
  OutputFlags output;
  std::string filter;
  std::string replay;
  unsigned processes = 1;
  bool list = false;
};

void list_properties() {
  for (const Property& property : all_properties()) {
    say("{}", property.name());
    for (const std::string& claim : property.claims()) say(" {}", claim);
    say("\n");
  }
}

Report replay(const TestFlags& flags) {
  std::vector<const Property*> matching;
  for (const Property& property : all_properties()) {
    if (property.name().find(flags.filter) != std::string::npos) matching.push_back(&property);
  }
  if (const Property* exact = find_property(flags.filter)) matching = {exact};
  if (matching.size() != 1) {
    throw InputError(usage, fmt::format("--replay: needs a --filter that names one property, got '{}', which names {}",
                                        flags.filter, matching.size()));
  }
  return as_input_error<std::invalid_argument>(
      malformed, "--replay: ", [&] { return Report{rows_of(*matching[0], matching[0]->replay(flags.replay))}; });
}

std::string closing_line(const Report& report, const RunOptions& options) {
  std::set<std::string> claims;
  std::size_t decided = 0, failed = 0;
  for (const ReportRow& row : report.rows) {
    claims.insert(row.claim);
    decided += row.cases;
    failed += row.verdict != ReportVerdict::pass;
  }
  return fmt::format("{}: {} claims, {} decisions, {} claims did not hold (seed {}, {} cases each)",
                     to_string(report.verdict()), claims.size(), decided, failed, options.seed, options.cases);
}

int run_test(const TestFlags& flags) {
  if (flags.list) {
    list_properties();
    return holds;
  }
  const RunOptions options = run_options(flags.cases, 100);
  if (flags.replay.empty()) {
    Progress progress;
    const Report report{rows_of_parts(claim_parts(flags.cases, options, flags.filter, progress), flags.processes)};
    progress.show("");
    return publish(report, flags.output, closing_line(report, options));
  }
  const Report report = replay(flags);
  return publish(report, flags.output, fmt::format("{}: one case replayed", to_string(report.verdict())));
}

}  // namespace

void add_test_verb(Verb app) {
  auto [verb, flags] = app.add_verb<TestFlags>(
      "test", "Decide every claim of the paper on random rows, matrices and networks", run_test);
  verb.add_option("--filter", flags.filter, "Only properties whose name contains TEXT: Lemma21", typed("TEXT"));
  verb.add_option("--replay", flags.replay, "Check one case, as a failure printed it", typed("CASE"));
  verb.add_flag("--list", flags.list, "List the properties and the claims each decides");
  add_case_flags(verb, flags.cases);
  add_processes_flag(verb, flags.processes);
  add_output_flags(verb, flags.output);
}

}  // namespace softcheck::cli
