#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_folder.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"
#include "judge/survivors/survivor_matrix.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct SurvivorFlags {
  std::string folder = "results/survivors";
  std::uint64_t seed = SurvivorOptions{}.seed;
  std::string effort = to_string(SurvivorOptions{}.effort);
};

// The planted bugs stand in the source tree, and their libraries in its build: an installed command has neither. A
// peer's library is there where the peer is installed.
std::vector<ZooKernel> zoo() {
  std::error_code error;
  const std::filesystem::path list(SOFTCHECK_BUILD_ZOO);
  if (!std::filesystem::exists(list, error)) {
    throw InputError(unsupported,
                     fmt::format("run survivors: needs the list of planted bugs, {}, which is not there; it works "
                                 "from a build of the source tree alone",
                                 list.string()));
  }
  std::vector<ZooKernel> rows = read_zoo_kernels(list);
  const auto library_of = [](const ZooKernel& row) { return row.library_in(SOFTCHECK_BUILD_KERNELS); };
  std::erase_if(rows, [&](const ZooKernel& row) {
    return row.library.starts_with("softcheck_peer_") && !std::filesystem::exists(library_of(row));
  });
  for (const ZooKernel& row : rows) {
    const std::filesystem::path library = library_of(row);
    if (!std::filesystem::exists(library, error)) {
      throw InputError(unsupported, fmt::format("run survivors: needs the planted bugs, {}, which is not there; build "
                                                "the source tree with its tests (SOFTCHECK_BUILD_TESTS)",
                                                library.string()));
    }
  }
  return rows;
}

int run_survivors(const SurvivorFlags& flags) {
  const Effort effort = effort_of(flags.effort);
  if (effort == Effort::exhaustive) {
    throw InputError(usage, "--effort: need quick, default or deep, got 'exhaustive', which is of one kernel");
  }
  const std::vector<ZooKernel> rows = zoo();
  const OutputFolder folder(flags.folder);
  SurvivorMatrix matrix;
  {
    Progress progress;
    SurvivorOptions options;
    options.seed = flags.seed;
    options.effort = effort;
    options.folder = SOFTCHECK_BUILD_KERNELS;
    options.progress = [&](std::string_view text) { progress.show(text); };
    try {
      matrix = survivor_matrix(published_criteria(), rows, options);
    } catch (const std::runtime_error& error) {
      throw InputError(unsupported, error.what());
    }
  }
  const SurvivorOrigin origin{fmt::format("softcheck {}", this_build().version), std::string(this_build().commit),
                              fmt::format("softcheck run survivors --seed {} --effort {}", flags.seed, flags.effort)};
  folder.write("survivors.csv", to_csv(matrix, origin));
  folder.write("survivors.txt", to_text(matrix, origin));
  folder.write("survivors.svg", shares_to_svg(matrix, origin));
  folder.write("survivors_matrix.svg", to_svg(matrix, origin));

  const SurvivorLine& ours = matrix.lines.back();
  const SurvivorLine::Count bugs = matrix.count(ours, ZooKernelKind::bug);
  const SurvivorLine::Count correct = matrix.count(ours, ZooKernelKind::correct);
  say("{}\n{}: softcheck accepts {} of {} planted bugs and {} of {} correct kernels (seed {}, {} effort); "
      "survivors.txt, .csv, .svg and survivors_matrix.svg are in {}\n",
      to_table(matrix), matrix.judge_is_right() ? "pass" : "fail", bugs.accepted, bugs.applicable, correct.accepted,
      correct.applicable, flags.seed, flags.effort, flags.folder);
  return matrix.judge_is_right() ? holds : violated;
}

// Every table, figure and certificate from the shipped models, each as its own command, and the page that collects
// them. Goes on past what fails; the first code that is not 0 is the whole's.
int run_all(const std::string& out) {
  const OutputFolder folder(out);
  int code = holds;
  const auto run = [&](std::vector<std::string> arguments, const std::filesystem::path& to) {
    arguments.insert(arguments.end(), {"--out", to.string()});
    say("\n== softcheck {}\n", fmt::join(arguments, " "));
    const int own = run_command(arguments, every_verb);
    if (code == holds) code = own;
  };
  for (const char* name : {"table-1", "sensitivity", "variants", "figure-2", "figure-3", "figure-5", "figure-6",
                           "figure-7", "figure-8", "figure-9", "certificates"}) {
    run({"run", name}, folder.path() / name);
  }
  run({"report", "--results", out}, folder.path() / "softcheck.html");
  return code;
}

}  // namespace

void add_run_verb(Verb app, int& exit_code) {
  Verb verb = app.add_subcommand("run", "Reproduce a table or a figure");
  verb.require_subcommand(0, 1);
  verb.callback([verb] {
    if (verb.has_subcommand()) return;
    throw InputError(
        usage, "run: need survivors, exhaustive, train, field, or a table or figure that softcheck run --help lists");
  });
  Verb survivors = verb.add_subcommand(
      "survivors", "How many planted bugs published tests of softmax kernels accept, and how many softcheck does");
  const auto flags = std::make_shared<SurvivorFlags>();
  survivors.add_option("--out", flags->folder, "Folder for survivors.txt, .csv, .svg and survivors_matrix.svg")
      .type_name("DIR")
      .capture_default_str();
  survivors.add_option("--seed", flags->seed, "Seed of all random numbers").capture_default_str();
  survivors.add_option("--effort", flags->effort, "How long softcheck itself looks: quick, default or deep")
      .capture_default_str();
  survivors.callback([flags, &exit_code] { exit_code = run_survivors(*flags); });
  // It judges Python libraries, which only their own Python can call: the wheel brings it, not this program.
  Verb field = verb.add_subcommand("field", "Where the softmax and attention kernels of Python libraries are judged");
  field.callback([] {
    throw InputError(unsupported,
                     "run field: runs in Python, beside the libraries: pip install . -r python/requirements/field.txt, "
                     "then python -m softcheck.field");
  });
  Verb all = verb.add_subcommand("all", "Every table, figure and certificate, and the page that collects them");
  const auto out = std::make_shared<std::string>("results");
  all.add_option("--out", *out, "Folder with a folder for each").type_name("DIR").capture_default_str();
  all.callback([out, &exit_code] { exit_code = run_all(*out); });
  add_certificate_run(verb, exit_code);
  add_exhaustive_run(verb, exit_code);
  add_figure_runs(verb, exit_code);
  add_growth_run(verb, exit_code);
  add_head_figure_run(verb, exit_code);
  add_accuracy_figure_run(verb, exit_code);
  add_table_runs(verb, exit_code);
  add_train_run(verb, exit_code);
  add_language_train_run(verb, exit_code);
}

}  // namespace softcheck::cli
