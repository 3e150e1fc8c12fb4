#include "cli/checkpoints.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/exit_code.hpp"
#include "cli/signals.hpp"
#include "models/read/file_errors.hpp"
#include "models/report/checkpoint_report.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t ranked_heads = 10;

models::CheckpointReport certify(models::CheckpointQuestion question) {
  const Interruption interruption;
  Progress progress;
  question.progress = [&](int layer, std::size_t done, std::size_t asked) {
    progress.show(fmt::format("{}: layer {}, {} of {} heads", question.path, layer, done, asked));
  };
  question.run_progress = [&](std::int64_t layer) {
    progress.show(fmt::format("{}: layer {} on tokens", question.path, layer));
  };
  question.stop = [] { return Interruption::requested(); };
  return of_checkpoint("model", question.path, [&] { return models::certify_checkpoint(question); });
}

}  // namespace

void rethrow_about_checkpoint(const std::string& verb, const std::string& path) {
  try {
    throw;
  } catch (const models::MissingTensorFile& error) {
    throw InputError(usage, fmt::format("{}: {}", verb, error.what()));
  } catch (const models::UnsupportedTensorFile& error) {
    throw InputError(unsupported, fmt::format("{}: {}", verb, error.what()));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("{}: {}", verb, error.what()));
  } catch (const std::range_error& error) {
    throw InputError(unsupported, fmt::format("{}: {}: {}", verb, path, error.what()));
  } catch (const std::invalid_argument& error) {
    throw InputError(usage, fmt::format("{}: {}", verb, error.what()));
  }
}

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  const fs::path at(path);
  if (fs::is_directory(at, error) || at.extension() == ".gguf") return true;
  const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
  return at.extension() == ".safetensors" && fs::exists(folder / "config.json", error);
}

int run_checkpoint(const CheckpointFlags& flags, const OutputFlags& output) {
  const models::CheckpointReport checkpoint = certify(flags.question);
  proptests::Report report;
  report.rows = proptests::rows_of(checkpoint.certificates, checkpoint.path, checkpoint.seconds);
  std::string text = to_table(checkpoint, flags.all_heads ? 0 : ranked_heads);
  for (const proptests::ReportRow& row : report.rows) {
    if (row.verdict == proptests::ReportVerdict::pass) continue;
    text += fmt::format("\n  {} {}\n", to_string(row.verdict), row.claim);
    for (const std::string& line : row.details) text += fmt::format("    {}\n", line);
  }
  text += fmt::format("\n{}: {} of {} heads certified in {:.2f} s, for every length and every input{}\n",
                      to_string(report.verdict()), checkpoint.heads.size(), checkpoint.asked, checkpoint.seconds,
                      checkpoint.stopped ? "; interrupted" : "");
  const int code =
      publish(text, report.verdict(),
              {{"--json", output.json, to_json(checkpoint, proptests::to_json(report))},
               {"--junit", output.junit, proptests::to_junit(report)},
               {"--html", flags.html, flags.html.empty() ? "" : to_html(checkpoint, proptests::scripted_page_head)}});
  return checkpoint.stopped && code == holds ? undecided : code;
}

}  // namespace softcheck::cli
