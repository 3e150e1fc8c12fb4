// softcheck run exhaustive: judges our kernels at exhaustive effort; writes statements, and a table and a picture each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/flag_words.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_output.hpp"
#include "cli/signals.hpp"
#include "cli/verbs.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/exhaustive/exhaustive_state.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

std::string_view contract_of_ours(std::string_view symbol, std::string_view dtype) {
  for (const ShippedKernel& kernel : shipped_kernels()) {
    if (kernel.symbol == symbol && kernel.dtype == dtype && kernel.domain.empty()) return kernel.contract;
  }
  throw InputError(unsupported, fmt::format("run exhaustive: no kernel of softcheck is {} in {}", symbol, dtype));
}

struct ExhaustiveFlags {
  std::string folder = "results/exhaustive";
  std::vector<std::string> ops, dtypes;
  double budget = 0;
};

constexpr const char* names_of_ops = "softmax, log_softmax, logsumexp, entropy or attention";

std::vector<Op> ops_of(const ExhaustiveFlags& flags) {
  std::vector<Op> ops;
  for (const Op op : row_ops()) {
    if (op.rows().arguments() != nullptr) ops.push_back(op);
  }
  ops.push_back(Op::attention);
  if (flags.ops.empty()) return ops;
  std::vector<Op> named;
  for (const std::string& name : flags.ops) {
    const auto op = std::ranges::find_if(ops, [&](Op one) { return to_string(one) == name; });
    if (op == ops.end()) throw InputError(usage, fmt::format("--op: need {}, got '{}'", names_of_ops, name));
    named.push_back(*op);
  }
  return named;
}

// All but f64.
std::vector<std::string> usual_dtypes() {
  std::vector<std::string> dtypes{"f32", "bf16", "f16"};
  for (const numerics::Format format : numerics::all_formats()) {
    const numerics::FormatProperties& p = numerics::properties(format);
    if (p.storage_bits == 8) dtypes.emplace_back(p.name);
  }
  return dtypes;
}

ExhaustiveJudgement judge_whole(const KernelSubject& subject, const JudgeOptions& options) {
  return as_input_error<ResumeError>(
      malformed, "run exhaustive: ", [&] { return judge_exhaustively(subject, interruptible(options)); });
}

int run_exhaustive(const ExhaustiveFlags& flags) {
  const Interruption interruption;
  const std::filesystem::path library = kernel_folder() / "libsoftcheck_cpu_kernels.so";
  const OutputFolder folder(flags.folder);
  const std::vector<Op> ops = ops_of(flags);
  const std::vector<std::string> dtypes = flags.dtypes.empty() ? usual_dtypes() : flags.dtypes;
  Progress progress;
  ReportVerdict verdict = ReportVerdict::pass;
  std::string text;
  std::vector<std::filesystem::path> states;
  std::string refusal;
  bool whole = true;
  for (const std::string& dtype : dtypes) {
    for (const Op op : ops) {
      if (Interruption::requested()) {
        whole = false;
        verdict = std::min(verdict, ReportVerdict::undecided);  // some kernels were not judged
        break;
      }
      KernelSubject subject;
      subject.source = {library.string(), fmt::format("softcheck_{}", to_string(op))};
      subject.op = op;
      const numerics::Format input = dtype_of("--dtype", dtype);
      const std::string_view contract = contract_of_ours(subject.source.symbol, numerics::properties(input).name);
      subject.contract = numerics::parse_contract(contract, input, output_format(op, input));
      const std::string heading = fmt::format("{} {} [{}]", subject.source.symbol, dtype, contract);
      try {
        require_enumerable(subject);
      } catch (const std::invalid_argument& error) {
        refusal = error.what();
        text += fmt::format("{}: not tried: {}\n", heading, refusal);
        continue;
      }
      JudgeOptions options = judge_options(Effort::exhaustive);
      options.interrupted = Interruption::requested;
      if (flags.budget > 0) {
        using Clock = std::chrono::steady_clock;
        options.deadline =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(flags.budget));
      }
      options.progress = [&](const JudgeProgress& now) {
        progress.show(fmt::format("{} {}: {} of {} calls", subject.source.symbol, dtype, now.done, now.cases));
      };
      const std::string name = fmt::format("exhaustive_{}_{}", to_string(op), dtype);
      // An interrupted run, or one whose budget ended, resumes from these files; they are removed when all is done.
      states.push_back(folder.path() / (name + ".resume"));
      options.resume = states.back().string();
      const ExhaustiveJudgement judged = judge_whole(subject, options);
      whole = whole && judged.judgement.ended_early.empty();
      progress.show("");
      const std::string command = fmt::format("softcheck run exhaustive --op {} --dtype {}", to_string(op), dtype);
      text += fmt::format("{}: {}, {} rows; the judge took {:.0f} s of a processor\n", heading,
                          to_string(judged.judgement.verdict), judged.judgement.rows, judged.processor_seconds);
      for (const ExhaustiveStatement& statement : judged.statements) text += "  " + statement.text() + "\n";
      for (const std::string& what : judged.judgement.not_tried) text += "  not tried: " + what + "\n";
      verdict = std::min(verdict, judged.judgement.verdict);
      if (!judged.errors.empty()) {
        folder.write(name + ".csv", to_csv(judged, origin_lines(command)));
        folder.write(name + ".svg", to_svg(judged, heading, origin_lines(command)));
      }
    }
  }
  // A run that judged no kernel does not pass.
  if (states.empty() && whole) throw InputError(usage, fmt::format("run exhaustive: {}", refusal));
  for (const std::filesystem::path& state : states) {
    if (whole) std::filesystem::remove(state);
  }
  folder.write("exhaustive.txt", origin_lines("softcheck run exhaustive") + text);
  say("{}exhaustive.txt, and a picture and its numbers for each kernel of many arguments, are in {}\n", text,
      flags.folder);
  return proptests::exit_code(verdict);
}

}  // namespace

void add_exhaustive_run(Verb run) {
  auto [verb, flags] = run.add_verb<ExhaustiveFlags>(
      "exhaustive", "Our kernels on all arguments: statements, worst rows, and errors against arguments",
      run_exhaustive);
  verb.add_option("--out", flags.folder, "Folder for exhaustive.txt and the .csv and .svg of each kernel", typed("DIR"),
                  shown);
  verb.add_option("--op", flags.ops, std::string(names_of_ops) + "; repeated (default: all)", typed("OP"), once_each);
  verb.add_option("--dtype", flags.dtypes, numerics::format_names() + "; repeated (default: all but f64)",
                  typed("DTYPE"), once_each);
  verb.add_option("--budget", flags.budget, "Seconds that each kernel may take: then what is known is reported",
                  within(0.001, 1e7));
}

}  // namespace softcheck::cli
