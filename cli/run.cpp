#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/run_output.hpp"
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

struct AllFlags {
  std::string out = "results";
};

// The planted bugs are in the source tree, and their libraries in its build; an installed command has neither. A peer's
// library exists only if the peer is installed.
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
    matrix = as_input_error<std::runtime_error>(unsupported, "",
                                                [&] { return survivor_matrix(published_criteria(), rows, options); });
  }
  const SurvivorOrigin origin{fmt::format("softcheck {}", this_build().version), std::string(this_build().commit),
                              fmt::format("softcheck run survivors --seed {} --effort {}", flags.seed, flags.effort)};
  folder.write("survivors.csv", to_csv(matrix, origin));
  folder.write("survivors.tsv", to_tsv(matrix, origin));
  folder.write("survivors.txt", to_text(matrix, origin));
  folder.write("survivors.svg", shares_to_svg(matrix, origin));
  folder.write("survivors_softmax.svg", shares_to_svg(matrix.of("softmax", numerics::Format::f32), origin));
  folder.write("survivors_matrix.svg", to_svg(matrix, origin));

  const SurvivorLine& ours = matrix.lines.back();
  const SurvivorLine::Count bugs = matrix.count(ours, ZooKernelKind::bug);
  const SurvivorLine::Count correct = matrix.count(ours, ZooKernelKind::correct);
  say("{}\n{}: softcheck accepts {} of {} planted bugs and {} of {} correct kernels (seed {}, {} effort); "
      "survivors.txt, .tsv, .csv, .svg, survivors_softmax.svg and survivors_matrix.svg are in {}\n",
      to_table(matrix), matrix.judge_is_right() ? "pass" : "fail", bugs.accepted, bugs.applicable, correct.accepted,
      correct.applicable, flags.seed, flags.effort, flags.folder);
  return matrix.judge_is_right() ? holds : violated;
}

// Makes every table, figure and certificate of the shipped models, each by its own command, and the page that collects
// them. Continues after a failure, and returns the first code that is not 0.
int run_all(const AllFlags& flags) {
  const OutputFolder folder(flags.out);
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
  run({"report", "--results", flags.out}, folder.path() / "softcheck.html");
  return code;
}

}  // namespace

void add_run_verb(Verb app) {
  struct NoFlags {};
  Verb verb = app.add_verb<NoFlags>("run", "Reproduce a table or a figure",
                                    [](const NoFlags&) -> int {
                                      throw InputError(usage,
                                                       "run: need survivors, exhaustive, train, field, or a table or "
                                                       "figure that softcheck run --help lists");
                                    })
                  .first;
  verb.may_have_subcommand();
  auto [survivors, flags] = verb.add_verb<SurvivorFlags>(
      "survivors", "How many planted bugs published tests of softmax kernels accept, and how many softcheck does",
      run_survivors);
  survivors.add_option("--out", flags.folder,
                       "Folder for survivors.txt, .tsv, .csv, .svg, survivors_softmax.svg and survivors_matrix.svg",
                       typed("DIR"), shown);
  survivors.add_option("--seed", flags.seed, "Seed of all random numbers", shown);
  survivors.add_option("--effort", flags.effort, "How long softcheck itself looks: quick, default or deep", shown);
  // `run field` judges Python libraries, which only their own Python can call. The wheel has it; this program does not.
  verb.add_verb<NoFlags>("field", "Where the softmax and attention kernels of Python libraries are judged",
                         [](const NoFlags&) -> int {
                           throw InputError(unsupported,
                                            "run field: runs in Python, beside the libraries: pip install . -r "
                                            "python/requirements/field.txt, then python -m softcheck.field");
                         });
  auto [all, everything] =
      verb.add_verb<AllFlags>("all", "Every table, figure and certificate, and the page that collects them", run_all);
  all.add_option("--out", everything.out, "Folder with a folder for each", typed("DIR"), shown);
  for (const AddVerb add :
       {add_certificate_run, add_exhaustive_run, add_figure_runs, add_growth_run, add_head_figure_run,
        add_accuracy_figure_run, add_real_model_runs, add_table_runs, add_train_run, add_language_train_run}) {
    add(verb);
  }
}

}  // namespace softcheck::cli
