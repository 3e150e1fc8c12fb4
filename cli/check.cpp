#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/check_tensors.hpp"
#include "cli/exit_code.hpp"
#include "cli/flag_words.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/verbs.hpp"
#include "judge/op/op.hpp"
#include "judge/results/contract_fit.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_report.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct CheckVerbFlags {
  CheckFlags asked;
  std::vector<std::string> exempt;
  std::uint64_t worst = 10;
  std::string plot;
  OutputFlags output;
};

// "3 masked, 1 with NaN": rows that no threshold judges.
std::string other_rows_text(const TensorJudgement& judgement) {
  std::string text;
  for (const auto& [claim, what] :
       {std::pair("kernel.masked_row", "with nothing visible"), std::pair("kernel.nan_row", "with a NaN"),
        std::pair("kernel.infinite_row", "with an infinity")}) {
    for (const ReportRow& row : judgement.rows) {
      if (row.claim == claim && row.cases > 0) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.cases, what);
      }
    }
  }
  return text.empty() ? text : " (" + text + ")";
}

std::string closing_text(const TensorJudgement& judgement, const CheckedTensors& tensors,
                         const std::vector<std::string>& exempt) {
  const std::string ended = judgement.ended_early.empty() ? "" : "; " + judgement.ended_early;
  const std::string found =
      judgement.failed > 0 ? fmt::format("{} of {} rows fail", judgement.failed, rows_of_task(tensors.task))
      : judgement.verdict == ReportVerdict::pass && judgement.judged == 1 ? "the one row keeps to the contract"
      : judgement.verdict == ReportVerdict::pass ? fmt::format("all {} rows keep to the contract", judgement.judged)
                                                 : "no row fails, and nothing is proved";
  return fmt::format("{}{}: {}; {} of {} rows judged{}{}, {:.1f} s", to_string(judgement.verdict),
                     exemptions_text(exempt), found, judgement.judged, rows_of_task(tensors.task),
                     other_rows_text(judgement), ended, judgement.seconds);
}

TensorOptions options_of_check(const CheckVerbFlags& flags, Op op, Progress& progress) {
  TensorOptions options;
  // More rows than the report shows: if no others fail, it can name each failing row.
  options.worst = std::max<std::size_t>(flags.worst, 1000);
  options.exempt = parse_exemptions(flags.exempt, op);
  options.interrupted = Interruption::requested;
  options.progress = [&progress, start = std::chrono::steady_clock::now()](std::size_t done, std::size_t rows) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.show(fmt::format("{} of {} rows, {:.0f} s{}", done, rows, seconds, time_left_text(done, rows, seconds)));
  };
  return options;
}

struct Judged {
  TensorJudgement judgement;
  ContractFit fit;
};

Judged judge(const CheckVerbFlags& flags, const CheckedTensors& tensors) {
  Progress progress;
  const TensorOptions options = options_of_check(flags, tensors.task.op, progress);
  return as_input_error<std::invalid_argument>(malformed, "check: ", [&] {
    Judged judged{judge_tensors(tensors.task, tensors.contract, tensors.outputs, options), {}};
    judged.fit = fitting_contract(tensors.task, tensors.contract, tensors.outputs, judged.judgement, options,
                                  seconds_for_fit(judged.judgement));
    return judged;
  });
}

int run_check(const CheckVerbFlags& flags) {
  const Interruption interruption;
  const ShrunkFileGuard guard;
  // Reports an unknown claim before it reads a large file.
  parse_exemptions(flags.exempt, parse_op(flags.asked.op));
  const CheckedTensors tensors = read_tensors(flags.asked);
  const std::vector<ReportedTensor> reported = tensors.reported();
  const auto [judgement, fit] = judge(flags, tensors);
  const Report report{judgement.rows};
  const std::string worst = worst_text(judgement, tensors.task, tensors.contract, tensors.outputs, flags.worst);
  const std::string failing = failing_text(judgement, tensors.task);
  std::string asked = parameters_text(tensors.task);
  if (!asked.empty()) asked = "  " + asked.substr(2) + "\n";
  const std::string text =
      fmt::format("{}{}{}{}{}{}{}\n", tensors_text(reported), asked, to_table(report, {.colour = wants_colour()}),
                  fit.reading.empty() ? worst + fit.text() : fit.text() + worst, failing, failing.empty() ? "" : "\n",
                  closing_text(judgement, tensors, flags.exempt));
  const std::string json =
      tensors_json(judgement, tensors.task, tensors.contract, tensors.outputs, reported, flags.worst);
  return publish(text, judgement.verdict,
                 {{"--json", flags.output.json, json},
                  {"--junit", flags.output.junit, to_junit(report)},
                  {"--plot", flags.plot, slack_picture(judgement, tensors.task, tensors.contract), false}});
}

// An error if the name has the extension of another picture format.
std::string other_picture(const std::string& file) {
  for (const char* extension : {".png", ".pdf", ".jpg", ".jpeg", ".eps"}) {
    if (file.ends_with(extension)) return fmt::format("need the name of an SVG file, got '{}'", file);
  }
  return "";
}

}  // namespace

void add_check_verb(Verb app) {
  auto [verb, flags] =
      app.add_verb<CheckVerbFlags>("check", "Judge results in files by a contract; no kernel is called", run_check);
  CheckFlags& asked = flags.asked;
  add_op_flag(verb, asked.op);
  add_file_flags(verb, asked);
  verb.add_option("--theta", asked.theta, "Temperature: softmax(logits / theta) (default 1)",
                  within(0x1p-1000, 0x1p1000));
  constexpr double largest = std::numeric_limits<double>::max();
  verb.add_option("--scale", asked.scale,
                  "Attention: softmax(scale q k^T), the number the kernel had (default 1/sqrt(dim) as a double)",
                  within(-largest, largest));
  verb.add_flag("--causal", asked.causal, "Attention: the last query is aligned with the last key");
  verb.add_option("--label-smoothing", asked.label_smoothing, "Losses: the weight of the mean over all classes (0)",
                  within(0.0, 1.0));
  verb.add_option("--z-loss", asked.z_loss, "Losses: this times the squared log-sum-exp is added (0)",
                  within(0.0, largest));
  verb.add_option("--softcap", asked.softcap,
                  "Losses, attention: logits or scores x become softcap tanh(x / softcap) (0: they stay)",
                  within(0.0, largest));
  verb.add_option("--dropout-scale", asked.dropout_scale,
                  "Attention: the factor of the weights that --dropout keeps (1)", within(0.0, largest));
  verb.add_option("--sigmoid-bias", asked.sigmoid_bias, "sigmoid_attention: added to all scores (-ln of the keys)",
                  within(-largest, largest));
  verb.add_option("--reduction", asked.reduction, "cross_entropy_mean and its gradient: mean or sum (mean)",
                  typed("mean|sum"), checked([](const std::string& word) {
                    return word == "mean" || word == "sum" ? std::string() : "need mean or sum, got '" + word + "'";
                  }));
  verb.add_flag("--reverse", asked.reverse, "kl_divergence: sum p ln(p / q), weighed by the logits' own distribution");
  verb.add_option("--ignore-index", asked.ignore_index, "Losses: rows of this label have loss and gradient 0 (-100)");
  verb.add_option("--top-k", asked.top_k,
                  "topk_softmax: items chosen of each row (as many as --ids has); top_p_softmax: kept at most (0: all)",
                  within<std::int64_t>(0, 1LL << 30));
  verb.add_flag("--sigmoid", asked.sigmoid, "topk_softmax: sigmoids of the logits in place of their softmax");
  const auto some = within<std::int64_t>(1, 1LL << 30);
  verb.add_option("--groups", asked.groups, "topk_softmax: groups of equally many items (none)", some);
  verb.add_option("--groups-kept", asked.groups_kept, "topk_softmax: groups whose items may be chosen (all)", some);
  verb.add_option("--group-items", asked.group_items,
                  "topk_softmax: a group's score is the sum of so many of its largest scores (1)",
                  within<std::int64_t>(1, 2));
  verb.add_option("--routed-scale", asked.routed_scale, "topk_softmax: a factor of the weights (1)",
                  within(0x1p-1000, 0x1p1000));
  verb.add_flag("--renormalize", asked.renormalize,
                "topk_softmax: the weights are divided by their sum; top_p_softmax: top_p is a share of the k largest");
  verb.add_option("--top-p", asked.top_p, "top_p_softmax: the mass of the items that are kept (0: all are)",
                  within(0.0, 1.0));
  verb.add_option("--min-p", asked.min_p,
                  "top_p_softmax: the least coefficient of a kept item, over the largest (0: any)", within(0.0, 1.0));
  verb.add_flag("--base-2", asked.base_2, "merge_states: log-sum-exps are log2 sum 2^x");
  verb.add_option("--window", asked.window,
                  "Attention: keys to the left and right of its own that a query sees, as 127:0 or 3:all",
                  typed("LEFT:RIGHT"));
  verb.add_flag("--top-left", asked.top_left, "Attention: the first query is aligned with the first key");
  std::vector<std::string_view> bytes;  // formats of one byte
  for (const numerics::Format format : numerics::all_formats()) {
    if (numerics::properties(format).storage_bits == 8) bytes.push_back(numerics::properties(format).name);
  }
  verb.add_option("--dtype", asked.dtype,
                  fmt::format("The inputs must be of it: {}; bf16 reads NumPy's '|V2' as such, {} its '|V1'",
                              numerics::format_names(), fmt::join(bytes, " and ")));
  verb.add_option("--contract", asked.contract,
                  "What the kernel promises, as 'acc=f32 exp=2ulp sum=lanes:8 masked=zero'", typed("WORDS"));
  verb.add_option("--exempt", flags.exempt,
                  "A claim that the results are known to break, noted and not judged; repeated", typed("CLAIM"),
                  once_each);
  verb.add_option("--worst", flags.worst, "So many of the worst rows are shown",
                  within(std::uint64_t{0}, std::uint64_t{10'000}), shown);
  verb.add_option("--plot", flags.plot, "Draw how much of the thresholds was used to an SVG file", typed("FILE"),
                  checked(unwritable), checked(other_picture));
  add_output_flags(verb, flags.output);
  verb.refuse_words([&asked](const std::string& word) {
    const Op op = parse_op(asked.op);
    if (word.starts_with("-")) {
      return fmt::format(
          "check: --op {} has {} and what every op has, got '{}' (softcheck check --help lists the flags)",
          to_string(op), flags_of_op(asked, op), word.substr(0, word.find('=')));
    }
    return fmt::format("check: need each file behind its flag, for --op {} {}, got '{}' without one", to_string(op),
                       needed_flags(op), word);
  });
}

}  // namespace softcheck::cli
