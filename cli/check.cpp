#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/check_tensors.hpp"
#include "cli/exit_code.hpp"
#include "cli/interruption.hpp"
#include "cli/output.hpp"
#include "cli/shrunk_file.hpp"
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
  const std::string noted = exempt.empty() ? "" : fmt::format(" (exempt: {})", fmt::join(exempt, ", "));
  const std::string ended = judgement.ended_early.empty() ? "" : "; " + judgement.ended_early;
  const std::string found =
      judgement.failed > 0 ? fmt::format("{} of {} rows fail", judgement.failed, rows_of_task(tensors.task))
      : judgement.verdict == ReportVerdict::pass ? fmt::format("all {} rows keep to the contract", judgement.judged)
                                                 : "no row fails, and nothing is proved";
  return fmt::format("{}{}: {}; {} of {} rows judged{}{}, {:.1f} s", to_string(judgement.verdict), noted, found,
                     judgement.judged, rows_of_task(tensors.task), other_rows_text(judgement), ended,
                     judgement.seconds);
}

TensorOptions options_of_check(const CheckVerbFlags& flags, Op op, Progress& progress) {
  TensorOptions options;
  // More than are shown: where these are all that fail, the report can name each.
  options.worst = std::max<std::size_t>(flags.worst, 1000);
  options.exempt = parse_exemptions(flags.exempt, op);
  options.interrupted = Interruption::requested;
  options.progress = [&progress, start = std::chrono::steady_clock::now()](std::size_t done, std::size_t rows) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::string line = fmt::format("{} of {} rows, {:.0f} s", done, rows, seconds);
    if (done > 0 && seconds > 1) {
      const double left = seconds / static_cast<double>(done) * static_cast<double>(rows - done);
      line += fmt::format(", about {:.0f} s left", left);
    }
    progress.show(line);
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
  try {
    Judged judged{judge_tensors(tensors.task, tensors.contract, tensors.outputs, options), {}};
    judged.fit = fitting_contract(tensors.task, tensors.contract, tensors.outputs, judged.judgement, options,
                                  seconds_for_fit(judged.judgement));
    return judged;
  } catch (const std::invalid_argument& error) {
    throw InputError(malformed, fmt::format("check: {}", error.what()));
  }
}

int run_check(const CheckVerbFlags& flags) {
  const Interruption interruption;
  const ShrunkFileGuard guard;
  // An unknown claim is reported before a large file is read.
  parse_exemptions(flags.exempt, parse_op(flags.asked.op));
  const CheckedTensors tensors = read_tensors(flags.asked);
  const std::vector<ReportedTensor> reported = tensors.reported();
  const auto [judgement, fit] = judge(flags, tensors);
  const Report report{judgement.rows};
  const std::string worst = worst_text(judgement, tensors.task, tensors.contract, tensors.outputs, flags.worst);
  const std::string failing = failing_text(judgement, tensors.task);
  std::string asked = parameters_text(tensors.task);
  if (!asked.empty()) asked = "  " + asked.substr(2) + "\n";
  const std::string text = fmt::format("{}{}{}{}{}{}{}{}\n", tensors_text(reported), asked,
                                       to_table(report, {.colour = wants_colour()}), worst, fit.text(), failing,
                                       failing.empty() ? "" : "\n", closing_text(judgement, tensors, flags.exempt));
  const std::string json =
      tensors_json(judgement, tensors.task, tensors.contract, tensors.outputs, reported, flags.worst);
  return publish(text, judgement.verdict,
                 {{"--json", flags.output.json, json},
                  {"--junit", flags.output.junit, to_junit(report)},
                  {"--plot", flags.plot, slack_picture(judgement, tensors.task, tensors.contract), false}});
}

// A name that promises another format than the picture has.
std::string other_picture(const std::string& file) {
  for (const char* extension : {".png", ".pdf", ".jpg", ".jpeg", ".eps"}) {
    if (file.ends_with(extension)) return fmt::format("need the name of an SVG file, got '{}'", file);
  }
  return "";
}

void add_file_flags(Verb verb, CheckFlags& flags) {
  const auto file = [&](const char* name, std::string& place, const char* text) {
    verb.add_option(name, place, text).type_name("FILE[:NAME]");
  };
  file("--logits", flags.logits, "Rows of logits (..., n): .npy, .npz:name or .safetensors:name");
  file("--saved", flags.saved, "Gradients of rows: the forward pass's output (..., n)");
  file("--out-gradient,--dout", flags.out_gradient, "Gradients: the loss's gradient by that output, of its shape");
  file("--lse-gradient,--dlse", flags.lse_gradient,
       "attention_backward: the loss's gradient by the log-sum-exp of each query (...), if it has one");
  file("--labels", flags.labels, "Losses: the class of each row (...), int32 or int64");
  file("--upstream", flags.upstream, "cross_entropy_backward: the gradient by the loss of each row (...)");
  file("--class-weights", flags.class_weights,
       "Losses: a weight of each class (n), of the logits' dtype or a wider one");
  file("--query,--q", flags.query, "Attention: (..., queries, dim), as (batch, heads, queries, dim) from the right");
  file("--key,--k", flags.key, "Attention: (..., keys, dim)");
  file("--value,--v", flags.value, "Attention: (..., keys, value dim)");
  file("--out", flags.out,
       "attention_backward: the forward pass's output, if the kernel read it; merge_states: the "
       "parts' outputs (parts, ..., dim)");
  file("--mask", flags.mask, "Bytes or booleans, nonzero = visible, broadcast as NumPy does");
  file("--sinks", flags.sinks, "Attention and its gradient: one logit a head");
  file("--slopes", flags.slopes, "Attention and its gradient: ALiBi's, one a head");
  file("--bias", flags.bias, "Attention and its gradient: added to the scores, broadcast as NumPy does");
  file("--output", flags.output, "The results: of the logits' shape, a value a row (...) or (..., 1), or attention's");
  file("--lse", flags.lse,
       "Attention's log-sum-exp of each query, of its gradient beside --out; merge_states: the "
       "parts' (parts, ...)");
  file("--output-lse", flags.output_lse, "merge_states: the merged log-sum-exps (...)");
  file("--weights", flags.weights, "topk_softmax: the results (..., k)");
  file("--ids", flags.ids, "topk_softmax: the items that have them (..., k), int32 or int64");
  file("--dq", flags.dq, "attention_backward: the results, of the query's shape");
  file("--dk", flags.dk, "attention_backward: of the key's");
  file("--dv", flags.dv, "attention_backward: of the value's");
  file("--dsinks", flags.dsinks, "attention_backward: the gradient by --sinks (heads), where the kernel returned it");
  file("--dbias", flags.dbias, "attention_backward: that by --bias, of the bias's own shape");
  file("--entropy", flags.entropy, "Attention's entropy of each query; needs --lse");
}

}  // namespace

void add_check_verb(Verb app, int& exit_code) {
  Verb verb = app.add_subcommand("check", "Judge results in files by a contract; no kernel is called");
  const auto flags = std::make_shared<CheckVerbFlags>();
  CheckFlags& asked = flags->asked;
  std::string ops;
  for (const Op op : all_ops()) ops += fmt::format("{}{}", ops.empty() ? "" : ", ", to_string(op));
  verb.add_option("--op", asked.op, ops).capture_default_str();
  add_file_flags(verb, asked);
  verb.add_option("--theta", asked.theta, "Temperature: softmax(logits / theta) (default 1)")
      .within(0x1p-1000, 0x1p1000);
  constexpr double largest = std::numeric_limits<double>::max();
  verb.add_option("--scale", asked.scale,
                  "Attention: softmax(scale q k^T), the number the kernel had (default 1/sqrt(dim) as a double)")
      .within(-largest, largest);
  verb.add_flag("--causal", asked.causal, "Attention: the last query is aligned with the last key");
  verb.add_option("--label-smoothing", asked.label_smoothing, "Losses: the weight of the mean over all classes (0)")
      .within(0.0, 1.0);
  verb.add_option("--z-loss", asked.z_loss, "Losses: this times the squared log-sum-exp is added (0)")
      .within(0.0, largest);
  verb.add_option("--softcap", asked.softcap,
                  "Losses, attention: logits or scores x become softcap tanh(x / softcap) (0: they stay)")
      .within(0.0, largest);
  verb.add_option("--reduction", asked.reduction, "cross_entropy_mean and its gradient: mean or sum (mean)")
      .type_name("mean|sum")
      .check([](const std::string& word) {
        return word == "mean" || word == "sum" ? std::string() : "need mean or sum, got '" + word + "'";
      });
  verb.add_option("--ignore-index", asked.ignore_index, "Losses: rows of this label have loss and gradient 0 (-100)");
  verb.add_option("--top-k", asked.top_k, "topk_softmax: items chosen of each row (as many as --ids has)")
      .within(std::int64_t{0}, std::int64_t{1} << 30);
  verb.add_flag("--renormalize", asked.renormalize, "topk_softmax: the weights are divided by their sum");
  verb.add_option("--top-p", asked.top_p, "top_p_softmax: the mass of the items that are kept (0: all are)")
      .within(0.0, 1.0);
  verb.add_option("--min-p", asked.min_p,
                  "top_p_softmax: the least coefficient of a kept item, over the largest (0: any)")
      .within(0.0, 1.0);
  verb.add_flag("--base-2", asked.base_2, "merge_states: log-sum-exps are log2 sum 2^x");
  verb.add_option("--window", asked.window,
                  "Attention: keys to the left and right of its own that a query sees, as 127:0 or 3:all")
      .type_name("LEFT:RIGHT");
  verb.add_flag("--top-left", asked.top_left, "Attention: the first query is aligned with the first key");
  verb.add_option("--dtype", asked.dtype,
                  "The inputs must be of it: " + numerics::format_names() +
                      "; bf16 reads NumPy's '|V2' as such, e4m3 and e5m2 its '|V1'");
  verb.add_option("--contract", asked.contract,
                  "What the kernel promises, as 'acc=f32 exp=2ulp sum=lanes:8 masked=zero'")
      .type_name("WORDS");
  verb.add_option("--exempt", flags->exempt,
                  "A claim that the results are known to break, noted and not judged; repeated")
      .type_name("CLAIM")
      .once_each();
  verb.add_option("--worst", flags->worst, "So many of the worst rows are shown")
      .within(std::uint64_t{0}, std::uint64_t{10'000})
      .capture_default_str();
  verb.add_option("--plot", flags->plot, "Draw how much of the thresholds was used to an SVG file")
      .type_name("FILE")
      .check(unwritable)
      .check(other_picture);
  add_output_flags(verb, flags->output);
  verb.refuse_words([flags](const std::string& word) {
    const Op op = parse_op(flags->asked.op);
    if (word.starts_with("-")) {
      return fmt::format(
          "check: --op {} has {} and what every op has, got '{}' (softcheck check --help lists the flags)",
          to_string(op), flags_of_op(flags->asked, op), word.substr(0, word.find('=')));
    }
    return fmt::format("check: need each file behind its flag, for --op {} {}, got '{}' without one", to_string(op),
                       needed_flags(flags->asked, op), word);
  });
  verb.callback([flags, &exit_code] { exit_code = run_check(*flags); });
}

}  // namespace softcheck::cli
