#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "proptests/generators/row.hpp"
#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct KernelFlags {
  std::string source;
  std::string op = "softmax";
  std::string dtype = "f32";
  std::string contract;
  std::string required;
  std::string replay;
  double seconds_per_call = KernelLimits{}.seconds_per_call;
  std::uint64_t max_length = JudgeOptions{}.max_length;
  CaseFlags cases;
  OutputFlags output;
};

ExitCode code_of(KernelLoadError::Reason reason) {
  switch (reason) {
    case KernelLoadError::Reason::no_such_file:
      return usage;
    case KernelLoadError::Reason::not_a_library:
      return malformed;
    case KernelLoadError::Reason::no_such_symbol:
      return unsupported;
    case KernelLoadError::Reason::died_while_loading:
      return crashed;
  }
  return usage;
}

// "Kernel.EveryValue... row f32 theta=...": the property, a blank, the case.
KernelJudgement replay(const KernelSubject& subject, const std::string& text, const JudgeOptions& options) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) {
    throw InputError(malformed, fmt::format("--replay: need 'PROPERTY CASE', got '{}'", text));
  }
  try {
    return replay_kernel(subject, text.substr(0, blank), text.substr(blank + 1), options);
  } catch (const std::invalid_argument& error) {
    throw InputError(malformed, fmt::format("--replay: {}", error.what()));
  }
}

numerics::Format dtype_of(const std::string& text) {
  for (numerics::Format format :
       {numerics::Format::f64, numerics::Format::f32, numerics::Format::f16, numerics::Format::bf16}) {
    if (numerics::properties(format).name == text) return format;
  }
  throw InputError(usage, fmt::format("--dtype: need f64, f32, f16 or bf16, got '{}'", text));
}

numerics::Contract contract_of(const std::string& words, numerics::Format input, numerics::Format output) {
  try {
    return numerics::parse_contract(words, input, output);
  } catch (const std::invalid_argument& error) {
    const std::string_view text = error.what();
    const std::size_t colon = text.find(": ");
    throw InputError(usage, fmt::format("--contract: {}", text.substr(colon == text.npos ? 0 : colon + 2)));
  }
}

int run_kernel(const KernelFlags& flags) {
  KernelSubject subject;
  subject.source = parse_kernel_source(flags.source);
  subject.op = parse_op(flags.op);
  const numerics::Format input = dtype_of(flags.dtype);
  subject.contract = contract_of(flags.contract, input, output_format(subject.op, input));
  subject.required = parse_requirements(flags.required);
  JudgeOptions options;
  options.run = run_options(flags.cases, 200);
  options.max_length = flags.max_length;
  options.limits.seconds_per_call = flags.seconds_per_call;
  try {
    const KernelJudgement judgement =
        flags.replay.empty() ? judge_kernel(subject, options) : replay(subject, flags.replay, options);
    const Report report{rows_of(subject, judgement)};
    const std::string how =
        flags.replay.empty() ? fmt::format("seed {}, {} cases for each property", options.run.seed, options.run.cases)
                             : "one case replayed";
    return publish(report, flags.output,
                   fmt::format("{}: {} calls, {} refused, {:.1f} s ({})", to_string(judgement.verdict), judgement.calls,
                               judgement.refused, judgement.seconds, how));
  } catch (const KernelLoadError& error) {
    throw InputError(code_of(error.reason), error.what());
  }
}

}  // namespace

void add_kernel_verb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("kernel", "Judge a kernel behind kernels/abi/softcheck_kernel.h by its contract");
  const auto flags = std::make_shared<KernelFlags>();
  verb->add_option("kernel", flags->source, "The shared library and the kernel's symbol in it")
      ->type_name("LIB:SYMBOL")
      ->required();
  verb->add_option("--op", flags->op, "softmax, log_softmax, logsumexp, entropy or adaptive_softmax")
      ->capture_default_str();
  verb->add_option("--dtype", flags->dtype, "f64, f32, f16 or bf16")->capture_default_str();
  verb->add_option("--contract", flags->contract,
                   "What the kernel promises, as 'acc=f32 exp=1ulp sum=lanes:8 masked=nan subnormal=kept'")
      ->type_name("WORDS");
  verb->add_option("--require", flags->required, "Judge what is else only noted: deterministic,batch-invariant");
  verb->add_option("--max-length", flags->max_length, "Longest row")
      ->check(CLI::Range(std::uint64_t{1}, RowOptions{}.max_length))
      ->capture_default_str();
  verb->add_option("--time-limit", flags->seconds_per_call, "Seconds one call may take")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  verb->add_option("--replay", flags->replay, "Check one case, as a failure printed it")->type_name("'PROPERTY CASE'");
  add_case_flags(*verb, flags->cases);
  add_output_flags(*verb, flags->output);
  verb->callback([flags, &exit_code] { exit_code = run_kernel(*flags); });
}

}  // namespace softcheck::cli
