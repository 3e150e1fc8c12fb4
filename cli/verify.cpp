#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/model_rows.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"
#include "experiments/attention_kernels.hpp"
#include "experiments/safetensors.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "library/build_info.hpp"
#include "proptests/registry.hpp"
#include "proptests/report/report_parts.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

// The kernels that ship with the project, or stand beside it, and what each promises (derived in kernels/README.md).
struct ShippedKernel {
  const char* library;
  const char* symbol;
  const char* op;
  const char* dtype;
  const char* contract;
  const char* absent;            // why the library may be missing; null where it must be there
  const char* exempt = nullptr;  // a claim that it is known to break
  const char* domain = "";       // the calls that it is judged on; empty: all
};

constexpr const char* ours = "libsoftcheck_cpu_kernels.so";
constexpr const char* onednn = "libsoftcheck_peer_onednn.so";
constexpr const char* our_contract = "exp=1ulp sum=blocks:32 masked=nan subnormal=kept";
constexpr const char* our_attention_contract = "exp=1ulp sum=blocks:128 masked=zero subnormal=kept entropy=exact";
constexpr const char* onednn_absent =
    "oneDNN's kernel, which is built where oneDNN is found (Debian: libdnnl-dev, ocl-icd-opencl-dev) and is not "
    "installed";

#ifdef __aarch64__
// oneDNN 2.6 has no exponential below 2^-126 there, that of -inf included: a hidden item is not 0, nor a row of them
// NaN.
constexpr const char* onednn_domain = "theta=1 contiguous finite nomask";
#else
constexpr const char* onednn_domain = "";
#endif

// These kernels return. An emulator took more than the usual ten seconds for one call of 65,535 rows.
constexpr double seconds_per_call = 120;

constexpr ShippedKernel shipped_kernels[] = {
    {ours, "softcheck_softmax", "softmax", "f32", our_contract, nullptr},
    {ours, "softcheck_softmax", "softmax", "bf16", our_contract, nullptr},
    {ours, "softcheck_log_softmax", "log_softmax", "f32", our_contract, nullptr},
    {ours, "softcheck_logsumexp", "logsumexp", "f32", our_contract, nullptr},
    {ours, "softcheck_entropy", "entropy", "f32", our_contract, nullptr},
    {ours, "softcheck_adaptive_softmax", "adaptive_softmax", "f32", our_contract, nullptr},
    {ours, "softcheck_attention", "attention", "f32", our_attention_contract, nullptr},
    {ours, "softcheck_attention", "attention", "bf16", our_attention_contract, nullptr},
    {ours, "softcheck_adaptive_attention", "adaptive_attention", "f32", our_attention_contract, nullptr},
    // oneDNN 2.6 answers a row that holds a NaN with numbers. Its log_softmax is not here: it errs by 1.4e-6 at ln 1 =
    // 0, which no contract grants (proptests/tests/judge/onednn_test.cpp).
    {onednn, "softcheck_onednn_softmax", "softmax", "f32", "", onednn_absent, "kernel.nan_row", onednn_domain},
};

struct VerifyFlags {
  CaseFlags cases;
  OutputFlags output;
  unsigned processes = 1;
  bool quick = false;
};

// Every pair of classes of calls; what only calls of a million logits can have is left to `softcheck kernel`.
JudgeOptions options_of_kernels(const RunOptions& run, bool quick) {
  JudgeOptions options;
  if (quick) {
    options = judge_options(Effort::quick);
  } else {
    options.covers = 1;
    options.cover_elements = std::uint64_t{1} << 18;
  }
  options.run = run;
  options.limits.seconds_per_call = seconds_per_call;
  return options;
}

// Appends a part for each shipped kernel that is there; returns what was skipped, and why.
std::set<std::string> add_shipped_kernels(const JudgeOptions& options, Progress& progress,
                                          std::vector<ReportPart>& parts) {
  std::set<std::string> skipped;
  const std::filesystem::path folder = kernel_folder();
  for (const ShippedKernel& shipped : shipped_kernels) {
    const std::filesystem::path library = folder / shipped.library;
    std::error_code error;
    if (shipped.absent != nullptr && !std::filesystem::exists(library, error)) {
      skipped.insert(shipped.absent);
      continue;
    }
    KernelSubject subject;
    subject.source = {library.string(), shipped.symbol};
    subject.op = parse_op(shipped.op);
    const numerics::Format input = numerics::parse_format(shipped.dtype);
    subject.contract = numerics::parse_contract(shipped.contract, input, output_format(subject.op, input));
    if (shipped.exempt != nullptr) subject.exempt.insert(shipped.exempt);
    subject.domain = domain_of(shipped.domain, subject.op);
    const auto judge = [&shipped, &progress, subject, options] {
      progress.show(fmt::format("{}:{} {}", shipped.library, shipped.symbol, shipped.dtype));
      return as_input_error<KernelLoadError>(unsupported, "",
                                             [&] { return rows_of(subject, judge_kernel(subject, options)); });
    };
    // Half a minute for a kernel of attention, ten seconds for one of rows, one or two for a claim.
    parts.push_back({judge, subject.op->attention ? 2 : 1});
  }
  return skipped;
}

// Appends a part for each trained model that ships; returns how many.
std::size_t add_shipped_models(Progress& progress, std::vector<ReportPart>& parts) {
  std::vector<experiments::TrainedModel> models;
  experiments::ModelOptions options;
  try {
    models = experiments::read_models(model_folder());
    options.attention = experiments::AttentionKernels(kernel_folder() / ours).plain();
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, error.what());
  } catch (const std::runtime_error& error) {
    throw InputError(unsupported, error.what());
  }
  for (const experiments::TrainedModel& model : models) {
    parts.push_back({[model, options, &progress] { return rows_of_model(model, options, progress); }});
  }
  return models.size();
}

int run_verify(const VerifyFlags& flags) {
  const BuildInfo& build = this_build();
  const RunOptions options = run_options(flags.cases, flags.quick ? 20 : 1000);
  say("softcheck {} (commit {}), seed {}, {} cases for each property\n", build.version, build.commit, options.seed,
      options.cases);
  Progress progress;
  std::vector<ReportPart> parts = claim_parts(flags.cases, options, "", progress);
  const std::set<std::string> skipped = add_shipped_kernels(options_of_kernels(options, flags.quick), progress, parts);
  const std::size_t models = add_shipped_models(progress, parts);
  const Report report{rows_of_parts(parts, flags.processes)};
  progress.show("");

  // Claims of the paper are those of properties, whose names are subjects.
  std::set<std::string> claims, kernels;
  std::size_t decisions = 0, failed = 0;
  for (const ReportRow& row : report.rows) {
    if (find_property(row.subject) != nullptr) claims.insert(row.claim);
    if (row.claim == "kernel.verdict") kernels.insert(row.subject);
    decisions += row.cases;
    failed += row.verdict != ReportVerdict::pass;
  }
  std::string closing = fmt::format(
      "{}: {} claims decided, {} kernels judged, {} networks certified, {} decisions, {} lines do "
      "not hold",
      to_string(report.verdict()), claims.size(), kernels.size(), models, decisions, failed);
  for (const std::string& reason : skipped) closing += "; skipped: " + reason;
  return publish(report, flags.output, closing);
}

}  // namespace

void add_verify_verb(Verb app) {
  auto [verb, flags] = app.add_verb<VerifyFlags>(
      "verify", "Decide every claim of the paper, judge the kernels and certify the networks that ship", run_verify);
  add_case_flags(verb, flags.cases);
  verb.add_flag("--quick", flags.quick, "20 cases of each property, and quick effort for the kernels");
  add_processes_flag(verb, flags.processes);
  add_output_flags(verb, flags.output);
}

}  // namespace softcheck::cli
