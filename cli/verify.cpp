#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
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

constexpr std::string_view onednn = "softcheck_peer_onednn";
constexpr const char* onednn_absent =
    "oneDNN's kernel, which is built where oneDNN is found (Debian: libdnnl-dev, ocl-icd-opencl-dev) and is not "
    "installed";

#ifdef __aarch64__
// On this platform oneDNN 2.6 returns no exponential below 2^-126, not even for -inf: a masked item is not 0, and a
// fully masked row is not NaN.
constexpr std::string_view onednn_domain = "theta=1 contiguous finite nomask";
#else
constexpr std::string_view onednn_domain = "";
#endif

// These kernels do not hang, but qemu took more than the usual ten seconds for one call of 65,535 rows.
constexpr double seconds_per_call = 120;

struct VerifyFlags {
  CaseFlags cases;
  OutputFlags output;
  unsigned processes = 1;
  bool quick = false;
};

// Covers every pair of classes of calls, except pairs that need a million logits; `softcheck kernel` covers these.
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

// Appends a part for each shipped kernel whose library exists; returns the skipped ones with the reasons.
std::set<std::string> add_shipped_kernels(const JudgeOptions& options, Progress& progress,
                                          std::vector<ReportPart>& parts) {
  std::set<std::string> skipped;
  const std::filesystem::path folder = kernel_folder();
  for (const ShippedKernel& shipped : shipped_kernels()) {
    if (!shipped.verified) continue;
    const std::string library = fmt::format("lib{}.so", shipped.library);
    std::error_code error;
    if (shipped.library == onednn && !std::filesystem::exists(folder / library, error)) {
      skipped.insert(onednn_absent);
      continue;
    }
    KernelSubject subject;
    subject.source = {(folder / library).string(), std::string(shipped.symbol)};
    subject.op = parse_op(shipped.op);
    const numerics::Format input = numerics::parse_format(shipped.dtype);
    subject.contract = numerics::parse_contract(shipped.contract, input, output_format(subject.op, input));
    if (!shipped.exempt.empty()) subject.exempt.emplace(shipped.exempt);
    subject.domain = domain_of(shipped.library == onednn ? onednn_domain : shipped.domain, subject.op);
    const auto judge = [&shipped, &progress, library, subject, options] {
      progress.show(fmt::format("{}:{} {}", library, shipped.symbol, shipped.dtype));
      return as_input_error<KernelLoadError>(unsupported, "",
                                             [&] { return rows_of(subject, judge_kernel(subject, options)); });
    };
    // A kernel of attention takes half a minute, one of rows ten seconds, a claim one or two.
    parts.push_back({judge, subject.op->is_attention() ? 2 : 1});
  }
  return skipped;
}

// Appends a part for each shipped trained model; returns their number.
std::size_t add_shipped_models(Progress& progress, std::vector<ReportPart>& parts) {
  std::vector<experiments::TrainedModel> models;
  experiments::ModelOptions options;
  try {
    models = experiments::read_models(model_folder());
    options.attention = experiments::AttentionKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so").plain();
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

  // A claim of the paper is one whose subject is the name of a property.
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
