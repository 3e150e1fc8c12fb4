// softcheck_certify: bounds on the attention heads of a checkpoint.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "library/answer.hpp"
#include "library/options.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/gate.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::library {
namespace {

constexpr std::size_t ranked_heads = 10;

softcheck_certify_options complete(const softcheck_certify_options* given) {
  softcheck_certify_options options{};
  options.size = sizeof options;
  if (given == nullptr) return options;
  if (given->size != sizeof options) {
    throw UsageError("softcheck_certify_options: need size = sizeof(softcheck_certify_options), " +
                     std::to_string(sizeof options) + " in this version, got " + std::to_string(given->size));
  }
  std::memcpy(&options, given, sizeof options);
  return options;
}

void require_gate(const std::string& text) {
  try {
    models::Gate::parse(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("fail_if: ") + error.what());
  }
}

models::CheckpointQuestion question_of(const char* path, const softcheck_certify_options& options) {
  if (path == nullptr || *path == '\0') throw UsageError("path: need a folder or a file, got nothing");
  models::CheckpointQuestion question;
  question.path = path;
  if (options.eps != 0) question.options.eps = options.eps;
  question.options.items = options.items;
  if (options.layers != nullptr) question.layers = options.layers;
  if (options.activations != nullptr) question.activations = options.activations;
  if (options.fail_if != nullptr) {
    const std::string all = options.fail_if;
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = std::min(all.find(';', begin), all.size());
      const std::string text = all.substr(begin, end - begin);
      if (text.find_first_not_of(' ') != std::string::npos) {
        require_gate(text);
        question.fail_if.push_back(text);
      }
      begin = end + 1;
    }
  }
  question.threads = options.threads;
  if (options.tokens != nullptr) {
    if (options.attention == nullptr) throw UsageError("tokens: need the attention kernel of their run, got none");
    question.tokens = options.tokens;
    question.attention = options.attention;
  }
  if (options.interrupted != nullptr) {
    question.stop = [options] { return options.interrupted(options.context) != 0; };
  }
  if (options.progress != nullptr) {
    question.progress = [options](int layer, std::size_t done, std::size_t asked) {
      options.progress(options.context, layer, done, asked);
    };
  }
  return question;
}

Answer certified(const char* path, const softcheck_certify_options* given) {
  const softcheck_certify_options options = complete(given);
  const models::CheckpointQuestion question = question_of(path, options);
  models::CheckpointReport checkpoint;
  try {
    checkpoint = models::certify_checkpoint(question);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  proptests::Report report;
  report.rows = proptests::rows_of(checkpoint.certificates, checkpoint.path, checkpoint.seconds);
  const bool whole = checkpoint.heads.size() == checkpoint.asked;
  Answer result =
      answer_of(report, std::to_string(checkpoint.heads.size()) + " of " + std::to_string(checkpoint.asked) +
                            " heads certified" + (whole ? "" : "; interrupted"));
  if (!whole && result.status == SOFTCHECK_PASS) result.status = SOFTCHECK_UNDECIDED;
  result.members["text"] = proptests::printable_utf8(to_table(checkpoint, ranked_heads));
  result.members.update(nlohmann::ordered_json::parse(to_json(checkpoint, "")));
  result.members["whole"] = whole;
  if (options.html != 0) result.members["html"] = to_html(checkpoint, proptests::scripted_page_head);
  return result;
}

}  // namespace
}  // namespace softcheck::library

int softcheck_certify(const char* path, const softcheck_certify_options* options, char** report) {
  return softcheck::library::answer(report, [&] { return softcheck::library::certified(path, options); });
}
