#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/flag_words.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/signals.hpp"
#include "cli/verbs.hpp"
#include "judge/certification/certification.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/exhaustive/exhaustive_state.hpp"
#include "judge/inference/contract_inference.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct KernelFlags {
  std::string source;
  std::string op = "softmax";
  std::string dtype = "f32";
  std::string out_dtype;
  std::string contract;
  std::string domain;
  std::string required;
  std::vector<std::string> exempt;
  bool in_place = false;
  bool infer = false;
  bool strict = false;
  std::string effort = "default";
  std::string replay;
  bool certify = false;
  std::string extracted_judge;
  double seconds_per_call = KernelLimits{}.seconds_per_call;
  double seconds_to_load = KernelLimits{}.seconds_to_load;
  double budget = 0;  // 0: no limit
  std::uint64_t max_calls = 0;
  std::string resume;
  std::string isolation = "full";
  std::string device = "cpu";
  double memory_gib = std::ldexp(static_cast<double>(KernelLimits{}.additional_memory), -30);
  std::optional<std::uint64_t> max_length;
  CaseFlags cases;
  OutputFlags output;
};

// "Kernel.EveryValue... row f32 theta=...": the property, a blank, the case.
KernelJudgement replay(const KernelSubject& subject, const std::string& text, const JudgeOptions& options) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) {
    throw InputError(malformed, fmt::format("--replay: need 'PROPERTY CASE', got '{}'", text));
  }
  return as_input_error<std::invalid_argument>(malformed, "--replay: ", [&] {
    return replay_kernel(subject, text.substr(0, blank), text.substr(blank + 1), options);
  });
}

// The format of --out-dtype: the op's usual one, or the inputs'.
numerics::Format out_dtype_of(const KernelFlags& flags, Op op, numerics::Format input) {
  const numerics::Format usual = output_format(op, input);
  if (flags.out_dtype.empty()) return usual;
  const numerics::Format output = dtype_of("--out-dtype", flags.out_dtype);
  if (output == usual || output == input) return output;
  const std::string_view input_name = numerics::properties(input).name, usual_name = numerics::properties(usual).name;
  throw InputError(usage, fmt::format("--out-dtype: {} of {} logits is {}, got '{}'", to_string(op), input_name,
                                      usual == input ? fmt::format("{}", usual_name)
                                                     : fmt::format("{} or {}", usual_name, input_name),
                                      flags.out_dtype));
}

numerics::Contract contract_of(const std::string& words, numerics::Format input, numerics::Format output) {
  try {
    return numerics::parse_contract(words, input, output);
  } catch (const numerics::ContractError& error) {
    throw InputError(usage, fmt::format("--contract: {}", error.problem));
  }
}

Device device_of(const std::string& word) {
  if (word == "cpu") return Device::cpu;
  if (word == "cuda") return Device::cuda;
  throw InputError(usage, fmt::format("--device: need cpu or cuda, got '{}'", word));
}

KernelSubject subject_of(const KernelFlags& flags) {
  KernelSubject subject;
  subject.source = parse_kernel_source(flags.source);
  subject.source.device = device_of(flags.device);
  subject.op = parse_op(flags.op);
  const numerics::Format input = dtype_of("--dtype", flags.dtype);
  subject.contract = contract_of(flags.contract, input, out_dtype_of(flags, subject.op, input));
  subject.domain =
      as_input_error<std::invalid_argument>(usage, "--", [&] { return domain_of(flags.domain, subject.op); });
  subject.required = parse_requirements(flags.required);
  subject.required.in_place |= flags.in_place;
  subject.exempt = parse_exemptions(flags.exempt, subject.op);
  if (const std::string refused = refused_place(subject.required, subject.op); !refused.empty()) {
    throw InputError(usage, (flags.in_place ? "--in-place: " : "--require: ") + refused);
  }
  return subject;
}

Isolation isolation_of(const std::string& word) {
  if (word == "full") return Isolation::full;
  if (word == "process") return Isolation::process;
  throw InputError(usage, fmt::format("--isolation: need full or process, got '{}'", word));
}

std::chrono::steady_clock::time_point deadline_of(double budget) {
  using Clock = std::chrono::steady_clock;
  if (budget == 0) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(budget));
}

JudgeOptions options_of(const KernelFlags& flags) {
  JudgeOptions options = judge_options(effort_of(flags.effort));
  options.run = run_options(flags.cases, options.run.cases);
  if (flags.max_length) options.max_length = *flags.max_length;
  options.limits.seconds_per_call = flags.seconds_per_call;
  options.limits.seconds_to_load = flags.seconds_to_load;
  options.limits.isolation = isolation_of(flags.isolation);
  options.deadline = deadline_of(flags.budget);
  options.max_calls = flags.max_calls;
  options.interrupted = Interruption::requested;
  options.resume = flags.resume;
  options.limits.additional_memory = static_cast<std::size_t>(std::ldexp(flags.memory_gib, 30));
  return options;
}

// The first case of --corpus that does not pass; none if all pass, or without --corpus. Replays only cases of kernels;
// the others belong to properties of the theory.
std::optional<KernelJudgement> fails_on_corpus(const KernelFlags& flags, const KernelSubject& subject,
                                               const JudgeOptions& options, std::size_t& cases) {
  if (flags.cases.corpus.empty()) return std::nullopt;
  for (const CorpusEntry& entry : corpus_of(flags.cases)) {
    if (!entry.property.starts_with(std::string(kernel_suite) + ".")) continue;
    ++cases;
    try {
      KernelJudgement judgement = replay_kernel(subject, entry.property, entry.case_text, options);
      // A single refused call or vacuous threshold decides nothing: these are weighed over all calls.
      const bool weighed = judgement.verdict == ReportVerdict::refused || judgement.verdict == ReportVerdict::vacuous;
      if (weighed || judgement.verdict == ReportVerdict::pass) continue;
      judgement.notes.push_back("a case of the corpus: " + entry.where);
      return judgement;
    } catch (const std::invalid_argument& error) {
      throw InputError(malformed, fmt::format("--corpus: {}: {}", entry.where, error.what()));
    }
  }
  if (cases > 0) return std::nullopt;
  throw InputError(malformed,
                   fmt::format("--corpus: need cases of {}.*, found none in '{}'", kernel_suite, flags.cases.corpus));
}

int infer(const KernelFlags& flags, const KernelSubject& subject, const JudgeOptions& options) {
  if (flags.certify) throw InputError(usage, "--infer accuses no kernel: need no --certify beside it");
  if (!flags.contract.empty()) throw InputError(usage, "--infer finds the contract: need no --contract beside it");
  if (!flags.replay.empty()) throw InputError(usage, "--infer judges by what it finds: need no --replay beside it");
  const Inference inference = infer_contract(subject, options);
  options.progress({});
  const Report report{rows_of(inference, flags.strict)};
  const std::string closing =
      inference.contract ? fmt::format("{}: {} rows keep to '{}', which proves nothing of others; to judge by it:\n{}",
                                       inference.summary(), inference.answers, numerics::to_string(*inference.contract),
                                       command_line(inference.subject))
                         : inference.summary();
  return publish(report, flags.output, closing);
}

// The certification's line: the extracted judge's answers about the failures, or why it was not called.
std::string certification_of(const KernelFlags& flags, const KernelSubject& subject, KernelJudgement& judgement) {
  const ExtractedJudge judge(flags.extracted_judge.empty() ? extracted_judge_program()
                                                           : std::filesystem::path(flags.extracted_judge));
  if (judge.exists()) return fmt::format("certification: {}", certify_failures(subject, judge, judgement).text());
  return fmt::format(
      "certification: none, there is no extracted judge at '{}': the tests of the proofs build it where Coq, OCaml and "
      "Zarith are installed (./run test proofs); --extracted-judge or SOFTCHECK_EXTRACTED_JUDGE names another",
      judge.program().string());
}

std::string line_of(const JudgeProgress& progress) {
  if (progress.property.empty()) return "";
  // The remaining time is an estimate, because cases take different times.
  return fmt::format("{} of {} cases, {:.0f} s{}: {}", progress.done, progress.cases, progress.seconds,
                     time_left_text(progress.done, progress.cases, progress.seconds), progress.property);
}

// Checks combinations of flags: only some ops have exhaustive effort, and --infer and --replay do not.
void require_askable(const KernelFlags& flags, const KernelSubject& subject, const JudgeOptions& options) {
  if (flags.strict && !flags.infer) throw InputError(usage, "--strict: need --infer beside it");
  if (!flags.resume.empty() && (options.effort != Effort::exhaustive || !flags.replay.empty())) {
    throw InputError(usage, "--resume: need --effort exhaustive, and no --replay");
  }
  if (options.effort != Effort::exhaustive || !flags.replay.empty()) return;
  if (flags.infer) throw InputError(usage, "--effort: exhaustive judges by a contract: need no --infer beside it");
  as_input_error<std::invalid_argument>(usage, "--", [&] { require_enumerable(subject); });
}

int run_kernel(const KernelFlags& flags) {
  const Interruption interruption;
  const KernelSubject subject = subject_of(flags);
  JudgeOptions options = options_of(flags);
  require_askable(flags, subject, options);
  Progress progress;
  options.progress = [&, last = std::chrono::steady_clock::time_point()](const JudgeProgress& now) mutable {
    constexpr std::chrono::milliseconds between(100);
    const bool soon = std::chrono::steady_clock::now() < last + between;
    if (soon && !now.property.empty()) return;
    last = std::chrono::steady_clock::now();
    progress.show(line_of(now));
  };
  try {
    if (flags.infer) return infer(flags, subject, options);
    std::size_t corpus_cases = 0;
    std::optional<KernelJudgement> of_corpus = fails_on_corpus(flags, subject, options, corpus_cases);
    const bool from_corpus = of_corpus.has_value();
    KernelJudgement judgement = from_corpus            ? std::move(*of_corpus)
                                : flags.replay.empty() ? judge_kernel(subject, options)
                                                       : replay(subject, flags.replay, options);
    progress.show("");
    if (!from_corpus && flags.replay.empty() && options.effort != Effort::exhaustive) {
      const std::string hint = inference_hint(subject, judgement);
      if (!hint.empty()) judgement.notes.push_back(hint);
    }
    // The judgement is complete. If the folder is read-only, the file stays, which is no error.
    std::error_code ignored;
    if (!flags.resume.empty() && judgement.ended_early.empty()) std::filesystem::remove(flags.resume, ignored);
    if (flags.certify) judgement.notes.push_back(certification_of(flags, subject, judgement));
    const Report report{rows_of(subject, judgement)};
    std::string how = from_corpus                                                    ? "a case of the corpus"
                      : flags.replay.empty() && options.effort == Effort::exhaustive ? "exhaustive effort"
                      : flags.replay.empty()
                          ? fmt::format("{} effort, seed {}, {} cases for each property", to_string(options.effort),
                                        options.run.seed, options.run.cases)
                          : "one case replayed";
    if (corpus_cases > 0 && !from_corpus) how += fmt::format(", after {} of the corpus", corpus_cases);
    const std::string summary = summary_of(judgement);
    const char* separator = summary == to_string(judgement.verdict) ? ":" : ";";
    return publish(
        report, flags.output,
        fmt::format("{}{}{} {} {}, {} refused, {} {} judged, {:.1f} s ({})", summary, exemptions_text(subject.exempt),
                    separator, judgement.calls, judgement.calls == 1 ? "call" : "calls", judgement.refused,
                    judgement.rows, judgement.rows == 1 ? "row" : "rows", judgement.seconds, how));
  } catch (const Interrupted&) {
    throw InputError(undecided, "kernel: ended, by the user or --budget, before there was anything to report");
  } catch (const ResumeError& error) {
    throw InputError(malformed, fmt::format("--{}", error.what()));
  } catch (const KernelLoadError& error) {
    throw InputError(static_cast<ExitCode>(exit_code(error.reason)), error.what());
  }
}

void add_subject_flags(Verb verb, KernelFlags& flags) {
  verb.add_option("kernel", flags.source, "The shared library and the kernel's symbol in it", typed("LIB:SYMBOL"),
                  required);
  add_op_flag(verb, flags.op);
  verb.add_option("--dtype", flags.dtype, "Of the logits: " + numerics::format_names(), shown);
  verb.add_option("--out-dtype", flags.out_dtype,
                  "Of logsumexp, entropy and lse: the logits' own dtype (f32 for narrower logits otherwise)");
  verb.add_option(
      "--device", flags.device,
      "Whose memory the tensors lie in: cpu, or cuda, device 0 by its driver (CUDA_VISIBLE_DEVICES chooses)", shown);
  verb.add_option("--contract", flags.contract,
                  "What the kernel promises, as 'acc=f32 exp=1ulp sum=lanes:8 masked=nan subnormal=kept'",
                  typed("WORDS"));
  verb.add_option("--domain", flags.domain,
                  "The calls that the kernel is made for: 'n=16k n<=8192 rows=1|3|512 theta=1 compact align=16 "
                  "finite nomask'. It is judged inside; a call that it refuses there is a finding",
                  typed("WORDS"));
  verb.add_option(
      "--require", flags.required,
      "Judge what is else only noted, or not tried: deterministic,batch-invariant,in-place, and of gradients "
      "of rows in-place=out_gradient");
  verb.add_option("--exempt", flags.exempt, "A claim that the kernel is known to break, noted and not judged; repeated",
                  typed("CLAIM"), once_each);
  verb.add_flag("--in-place", flags.in_place, "The same as --require in-place: the output may be the logits' own view");
}

}  // namespace

void add_kernel_verb(Verb app) {
  auto [verb, flags] = app.add_verb<KernelFlags>(
      "kernel", "Judge a kernel behind kernels/abi/softcheck_kernel.h by its contract", run_kernel);
  add_subject_flags(verb, flags);
  verb.add_flag("--infer", flags.infer, "Find the standard contract that the kernel keeps to, and judge it by that");
  verb.add_flag("--strict", flags.strict,
                "With --infer: exit with 5 where the contract found has weaker words than the dtype's own arithmetic");
  verb.add_option("--effort", flags.effort,
                  "quick (seconds), default, deep (at least a million rows), or exhaustive: all arguments of softmax, "
                  "log_softmax, logsumexp and entropy, all scores of 16-bit attention (minutes)",
                  shown);
  verb.add_option("--max-length", flags.max_length, "Longest row (default: the effort's)",
                  within(std::uint64_t{1}, RowOptions{}.max_length));
  verb.add_option("--time-limit", flags.seconds_per_call, "Seconds one call may take", within(0.001, 86400.0), shown);
  verb.add_option("--load-limit", flags.seconds_to_load, "Seconds the library may take to load", within(0.001, 86400.0),
                  shown);
  verb.add_option("--budget", flags.budget,
                  "Seconds the whole judgement may take: then what is known is reported, as Ctrl-C does",
                  within(0.001, 1e7));
  verb.add_option(
      "--max-calls", flags.max_calls,
      "Calls of the kernel at most, chosen so that each property has some. The report names what is left out",
      within<std::uint64_t>(1, 1ULL << 40));
  verb.add_option("--resume", flags.resume,
                  "Of --effort exhaustive: keep what is judged in FILE, go on from it, and remove it when all is done",
                  typed("FILE"), checked(unwritable));
  verb.add_option("--isolation", flags.isolation,
                  "full, or process: for a kernel that must write files, or open sockets, with your own rights", shown);
  verb.add_option("--memory-limit", flags.memory_gib,
                  "GiB of addresses the kernel may take (CUDA reserves more than the machine has memory: 65536)",
                  within(0.0625, 131072.0), shown);
  verb.add_flag("--verbose", flags.output.verbose,
                "Print also each kind of refused call, what was not tried, and what classes of calls were met");
  verb.add_option("--replay", flags.replay, "Check one case, as a failure printed it", typed("'PROPERTY CASE'"));
  verb.add_flag("--certify", flags.certify,
                "Have each failed value of softmax, logsumexp or entropy judged again by the judge that Coq proved");
  verb.add_option("--extracted-judge", flags.extracted_judge,
                  "That judge's program (default: SOFTCHECK_EXTRACTED_JUDGE, or the one of the build)", typed("FILE"));
  add_case_flags(verb, flags.cases);
  add_output_flags(verb, flags.output);
}

}  // namespace softcheck::cli
