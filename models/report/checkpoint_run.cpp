#include "models/report/checkpoint_run.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

#include "models/bounds/certify_checkpoint.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/report/gate.hpp"
#include "models/report/head_observer.hpp"
#include "models/report/stored_report.hpp"

namespace softcheck::models {
namespace {

std::vector<const HeadDescription*> chosen_heads(const ModelDescription& model, const std::string& layers) {
  std::optional<LayerRange> range;
  if (!layers.empty()) {
    range = parse_layers(layers);
    if (!range) throw std::invalid_argument("layers: " + wrong_layers(layers));
    if (range->last >= model.layers) {
      throw std::invalid_argument("layers: need layers of 0-" + std::to_string(model.layers - 1) + ", got " + layers);
    }
  }
  std::vector<const HeadDescription*> heads;
  for (const HeadDescription& head : model.head_list) {
    if (!range || (head.layer >= range->first && head.layer <= range->last)) heads.push_back(&head);
  }
  return heads;
}

// Certifies a job's heads, or takes those that a file has kept, and keeps in it what is done at least every second.
std::vector<HeadCertificate> certify_and_keep(const Checkpoint& file, const ModelDescription& model, CheckpointJob job,
                                              const CheckpointQuestion& question) {
  const std::vector<const HeadDescription*> asked = job.heads;
  std::optional<SavedHeads> kept;
  if (!question.resume.empty()) {
    kept.emplace(question.resume, identity_of(question.path, question.options, question.version));
    std::erase_if(job.heads, [&](const HeadDescription* head) { return kept->find(*head).has_value(); });
  }
  std::size_t done = asked.size() - job.heads.size();
  auto written = std::chrono::steady_clock::now();
  job.done = [&](std::size_t, const HeadCertificate& head) {
    if (question.progress) question.progress(head.head.layer, ++done, asked.size());
    if (!kept) return;
    kept->keep(head);
    const auto now = std::chrono::steady_clock::now();
    if (now - written < std::chrono::seconds(1)) return;
    kept->write();
    written = now;
  };
  std::vector<std::optional<HeadCertificate>> found = certify_heads(file, model, job);
  std::vector<HeadCertificate> certificates;
  for (std::size_t next = 0; const HeadDescription* head : asked) {
    if (next < job.heads.size() && job.heads[next] == head) {
      if (found[next]) certificates.push_back(std::move(*found[next]));
      ++next;
    } else {
      certificates.push_back(*kept->find(*head));
    }
  }
  if (question.vocabulary) {
    std::vector<HeadCertificate*> heads;
    for (HeadCertificate& certificate : certificates) heads.push_back(&certificate);
    enumerate_first_layer(file, model, heads, job.threads, question.stop);
    // Heads whose enumeration was interrupted are not done, but need no second certificate.
    std::erase_if(certificates, [](const HeadCertificate& certificate) {
      return certificate.head.layer == 0 && !certificate.enumerated_spread;
    });
  }
  if (kept) kept->write();
  return certificates;
}

}  // namespace

std::string wrong_layers(const std::string& text) {
  return parse_layers(text) ? "" : "need a layer or a range such as 0-3, got '" + text + "'";
}

CheckpointReport certify_checkpoint(const CheckpointQuestion& question) {
  const auto start = std::chrono::steady_clock::now();
  if (!(question.options.eps > 0 && question.options.eps < 1)) {
    throw std::invalid_argument("eps: need a number between 0 and 1, got " + std::to_string(question.options.eps));
  }
  if (!question.activations.empty() && !question.tokens.empty()) {
    throw std::invalid_argument("need either recorded activations or tokens, got both");
  }
  std::vector<Gate> gates;
  for (const std::string& text : question.fail_if) gates.push_back(Gate::parse(text));

  CheckpointReport report;
  report.path = question.path;
  report.options = question.options;
  report.fail_if = question.fail_if;
  const std::unique_ptr<Checkpoint> file = open_checkpoint(question.path);
  report.format = file->format();
  report.model = describe(*file);
  CheckpointJob job;
  job.heads = chosen_heads(report.model, question.layers);
  const unsigned threads = question.threads != 0 ? question.threads : std::max(1U, std::thread::hardware_concurrency());
  std::optional<ForwardPass> pass;  // before the certificates: what is wrong with tokens is said at once
  if (!question.tokens.empty()) {
    pass.emplace(*file, report.model, read_token_ids(question.tokens), question.attention, threads);
    for (std::size_t input = 0; input < pass->inputs().size(); ++input) {
      if (pass->inputs()[input].count > 1) continue;
      throw TensorFileError("tokens: input " + std::to_string(input + 1) +
                            ": need two ids or more, got 1: the logit of one item has no spread");
    }
  }
  job.options = question.options;
  if (question.vocabulary && std::ranges::none_of(job.heads, [](const HeadDescription* h) { return h->layer == 0; })) {
    throw std::invalid_argument("vocabulary: need layer 0 among the layers, got " + question.layers);
  }
  if (question.options.context && question.options.items > static_cast<std::uint64_t>(report.model.context)) {
    throw std::invalid_argument("context: need at most the model's " + std::to_string(report.model.context) +
                                " items, got " + std::to_string(question.options.items));
  }
  job.threads = threads;
  job.stop = question.stop;
  report.asked = job.heads.size();
  report.heads = certify_and_keep(*file, report.model, std::move(job), question);
  report.certificates = certify_report(report);
  if (pass || !question.activations.empty()) {
    Observation observation =
        pass ? observe_tokens(*pass, report.heads, {question.tokens, threads, question.run_progress, question.stop})
             : observe(question.activations, report.model, report.heads);
    report.observed = std::move(observation.heads);
    std::ranges::move(observation.certificates, std::back_inserter(report.certificates));
  }
  for (const Gate& gate : gates) {
    for (const HeadCertificate& head : report.heads) report.certificates.push_back(gate.certify(head));
  }
  report.stopped = report.heads.size() < report.asked || (question.stop && question.stop());
  // Nothing is left to do again: what was kept goes, but not before all that may still fail has been done.
  std::error_code ignored;
  if (!report.stopped && !question.resume.empty()) std::filesystem::remove(question.resume, ignored);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

std::optional<LayerRange> parse_layers(const std::string& text) {
  LayerRange range;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, range.first);
  if (error != std::errc() || range.first < 0) return std::nullopt;
  range.last = range.first;
  if (at == end) return range;
  if (*at != '-') return std::nullopt;
  const auto [rest, second] = std::from_chars(at + 1, end, range.last);
  if (second != std::errc() || rest != end || range.last < range.first) return std::nullopt;
  return range;
}

}  // namespace softcheck::models
