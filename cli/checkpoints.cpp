#include "cli/checkpoints.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "cli/exit_code.hpp"
#include "cli/interruption.hpp"
#include "models/bounds/certify_checkpoint.hpp"
#include "models/report/checkpoint_html.hpp"
#include "models/report/checkpoint_report.hpp"
#include "models/report/gate.hpp"
#include "proptests/report.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using proptests::Report;
using proptests::ReportRow;

namespace {

constexpr std::size_t ranked_heads = 10;

std::optional<models::LayerRange> parse_layers(const std::string& text) {
  models::LayerRange range;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, range.first);
  if (error != std::errc() || range.first < 0) return std::nullopt;
  range.last = range.first;
  if (at != end) {
    if (*at != '-') return std::nullopt;
    const auto [rest, second] = std::from_chars(at + 1, end, range.last);
    if (second != std::errc() || rest != end || range.last < range.first) return std::nullopt;
  }
  return range;
}

// The reader's exceptions with the exit code of each.
template <class Work>
auto reading(Work work) {
  try {
    return work();
  } catch (const models::MissingTensorFile& error) {
    throw InputError(usage, fmt::format("model: {}", error.what()));
  } catch (const models::UnsupportedTensorFile& error) {
    throw InputError(unsupported, fmt::format("model: {}", error.what()));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("model: {}", error.what()));
  } catch (const std::range_error& error) {
    throw InputError(unsupported, fmt::format("model: {}", error.what()));
  }
}

std::vector<const models::HeadDescription*> chosen_heads(const models::ModelDescription& model,
                                                         const std::string& layers) {
  const std::optional<models::LayerRange> range = layers.empty() ? std::nullopt : parse_layers(layers);
  if (range && range->last >= model.layers) {
    throw InputError(usage, fmt::format("--layers: need layers of 0-{}, got {}", model.layers - 1, layers));
  }
  std::vector<const models::HeadDescription*> heads;
  for (const models::HeadDescription& head : model.head_list) {
    if (!range || (head.layer >= range->first && head.layer <= range->last)) heads.push_back(&head);
  }
  return heads;
}

// One row for each claim, with all heads' certificates.
Report report_of(const models::CheckpointReport& checkpoint) {
  std::map<std::string, std::vector<numerics::Certificate>> by_claim;
  for (numerics::Certificate& certificate : certify_report(checkpoint)) {
    by_claim[certificate.claim].push_back(std::move(certificate));
  }
  Report report;
  for (auto& [claim, certificates] : by_claim) {
    ReportRow row;
    row.claim = claim;
    row.subject = checkpoint.path;
    row.cases = certificates.size();
    row.verdict = proptests::report_verdict(numerics::worst(certificates));
    row.seconds = checkpoint.seconds;
    for (numerics::Certificate& certificate : certificates) {
      if (!std::isnan(certificate.slack) && !(row.slack >= certificate.slack)) row.slack = certificate.slack;
      if (certificate.verdict == numerics::Verdict::proved) continue;
      row.details.push_back(certificate.witness);
      row.failed.push_back(std::move(certificate));
    }
    report.rows.push_back(std::move(row));
  }
  return report;
}

void add_gates(const models::CheckpointReport& checkpoint, const std::vector<std::string>& texts, Report& report) {
  for (const std::string& text : texts) {
    const models::Gate gate = models::Gate::parse(text);
    ReportRow row;
    row.claim = "fail-if " + text;
    row.subject = checkpoint.path;
    row.verdict = proptests::ReportVerdict::pass;
    for (const models::HeadCertificate& head : checkpoint.heads) {
      ++row.cases;
      if (!gate.closes(head)) continue;
      row.verdict = proptests::ReportVerdict::fail;
      row.details.push_back(fmt::format("head {}.{}: {:.6g}", head.head.layer, head.head.head, gate.value(head)));
    }
    report.rows.push_back(std::move(row));
  }
}

}  // namespace

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  const fs::path at(path);
  if (fs::is_directory(at, error) || at.extension() == ".gguf") return true;
  const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
  return at.extension() == ".safetensors" && fs::exists(folder / "config.json", error);
}

std::string wrong_layers(const std::string& text) {
  return parse_layers(text) ? "" : fmt::format("need a layer or a range such as 0-3, got '{}'", text);
}

std::string wrong_gate(const std::string& text) {
  try {
    models::Gate::parse(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

int run_checkpoint(const std::string& path, const CheckpointFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  models::CheckpointReport checkpoint;
  checkpoint.path = path;
  checkpoint.options = {flags.eps, flags.items};
  std::size_t asked = 0;
  {
    const Interruption interruption;
    Progress progress;
    reading([&] {
      const std::unique_ptr<models::Checkpoint> file = models::open_checkpoint(path);
      checkpoint.format = file->format();
      checkpoint.model = models::describe(*file);
      models::CheckpointJob job;
      job.heads = chosen_heads(checkpoint.model, flags.layers);
      job.options = checkpoint.options;
      job.threads = flags.threads != 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency());
      asked = job.heads.size();
      std::size_t done = 0;
      job.done = [&](std::size_t, const models::HeadCertificate& head) {
        progress.show(fmt::format("{}: layer {}, {} of {} heads", path, head.head.layer, ++done, asked));
      };
      job.stop = [] { return Interruption::requested(); };
      for (std::optional<models::HeadCertificate>& head : certify_heads(*file, checkpoint.model, job)) {
        if (head) checkpoint.heads.push_back(std::move(*head));
      }
    });
  }
  checkpoint.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Report report = report_of(checkpoint);
  add_gates(checkpoint, flags.fail_if, report);
  const bool whole = checkpoint.heads.size() == asked;
  std::string text = to_table(checkpoint, flags.all_heads ? 0 : ranked_heads);
  for (const ReportRow& row : report.rows) {
    if (row.verdict == proptests::ReportVerdict::pass) continue;
    text += fmt::format("\n  {} {}\n", to_string(row.verdict), row.claim);
    for (const std::string& line : row.details) text += fmt::format("    {}\n", line);
  }
  text += fmt::format("\n{}: {} of {} heads certified in {:.2f} s, for every length and every input{}\n",
                      to_string(report.verdict()), checkpoint.heads.size(), asked, checkpoint.seconds,
                      whole ? "" : "; interrupted");
  const int code = publish(text, report.verdict(),
                           {{"--json", flags.output.json, to_json(checkpoint, proptests::to_json(report))},
                            {"--junit", flags.output.junit, proptests::to_junit(report)},
                            {"--html", flags.html, flags.html.empty() ? "" : to_html(checkpoint)}});
  return whole || code != holds ? code : undecided;
}

}  // namespace softcheck::cli
