#include "models/report/checkpoint_run.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

#include "models/bounds/certify_checkpoint.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/report/gate.hpp"
#include "models/report/observe_tokens.hpp"

namespace softcheck::models {
namespace {

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
  const std::unique_ptr<Checkpoint> file = open_checkpoint(question.path);
  report.format = file->format();
  report.model = describe(*file);
  CheckpointJob job;
  job.heads = chosen_heads(report.model, question.layers);
  const unsigned threads = question.threads != 0 ? question.threads : std::max(1U, std::thread::hardware_concurrency());
  std::optional<ForwardPass> pass;  // before the certificates: what is wrong with tokens is said at once
  if (!question.tokens.empty()) {
    pass.emplace(*file, report.model, read_token_ids(question.tokens), question.attention, threads);
  }
  job.options = question.options;
  job.threads = threads;
  job.stop = question.stop;
  report.asked = job.heads.size();
  std::size_t done = 0;
  job.done = [&](std::size_t, const HeadCertificate& head) {
    if (question.progress) question.progress(head.head.layer, ++done, report.asked);
  };
  for (std::optional<HeadCertificate>& head : certify_heads(*file, report.model, job)) {
    if (head) report.heads.push_back(std::move(*head));
  }
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
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace softcheck::models
