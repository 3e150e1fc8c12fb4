#include "judge/trial/kernel_judgement.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "judge/ops/rows/row_call.hpp"

namespace softcheck::proptests {

Domain domain_of(std::string_view words, Op op) {
  Domain domain = parse_domain(words, op->is_attention());
  if ((domain.packed && !op->packed) || (domain.pages && !op->pages)) {
    throw std::invalid_argument(
        "domain: packed needs --op attention or attention_backward, and pages --op attention, got " +
        std::string(to_string(op)));
  }
  if ((domain.sink_gradients || domain.bias_gradient || domain.lse_gradients) && op->optional_outputs == 0) {
    throw std::invalid_argument("domain: dsinks, dbias and dlse need --op attention_backward, got " +
                                std::string(to_string(op)));
  }
  if (domain.temperature && !op->optional_theta) {
    throw std::invalid_argument("domain: temperature needs a loss, got --op " + std::string(to_string(op)));
  }
  if (domain.no_ignored && op->is_attention() && !op->is_linear()) {
    throw std::invalid_argument("domain: noignored needs a loss, got --op " + std::string(to_string(op)));
  }
  if ((domain.top_k || domain.per_row) && !op->filters) {
    throw std::invalid_argument("domain: top_k and per_row need --op top_p_softmax, got --op " +
                                std::string(to_string(op)));
  }
  const bool chooses = !op->is_attention() && !op->elements.empty();
  if (!op->is_attention() && domain.routes() && !chooses) {
    throw std::invalid_argument("domain: scores=, bias, groups and routed_scale need --op topk_softmax, got --op " +
                                std::string(to_string(op)));
  }
  if (chooses && domain.routes() && domain.bounds_logits()) {
    throw std::invalid_argument("domain: need no logits<= or spread<= for a router, whose logits lie in [-16, 16]");
  }
  if (domain.dropout && op->is_attention() && !op->may_drop()) {
    throw std::invalid_argument("domain: dropout needs --op attention or attention_backward, got " +
                                std::string(to_string(op)));
  }
  if (domain.one_lambda && !op->differential) {
    throw std::invalid_argument("domain: lambda=shared needs --op differential_attention, got --op " +
                                std::string(to_string(op)));
  }
  if (domain.cache && (!op->is_attention() || op->optional_outputs != 0)) {
    throw std::invalid_argument("domain: cache= needs --op attention or adaptive_attention, got " +
                                std::string(to_string(op)));
  }
  // A query that sees only its sink adds dL to dsinks, for which there is no bound.
  if (domain.sink_gradients && domain.lse_gradients) {
    throw std::invalid_argument("domain: need dsinks or dlse, got both");
  }
  if (!domain.has_attributes() || op->attributes || chooses) return domain;
  throw std::invalid_argument(
      "domain: window, softcap, sinks, alibi, bias, dropout and causal= need --op attention or attention_backward, "
      "got " +
      std::string(to_string(op)));
}

Requirements parse_requirements(std::string_view words) {
  Requirements result;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    if (word.size() + 1 == words.size())
      throw std::invalid_argument("--require: a word is missing after the last comma");
    if (word == "deterministic") {
      result.deterministic = true;
    } else if (word == "batch-invariant") {
      result.batch_invariant = true;
    } else if (word == "in-place") {
      result.in_place = true;
    } else if (word == "in-place=out_gradient") {
      result.over_out_gradient = true;
    } else {
      throw std::invalid_argument(
          "--require: need deterministic, batch-invariant, in-place or in-place=out_gradient, got '" +
          std::string(word) + "'");
    }
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return result;
}

std::string refused_place(const Requirements& required, Op op) {
  const std::string got = ", got " + std::string(to_string(op));
  if (required.in_place && !op->may_be_in_place) return "in-place needs an op whose output may be its input" + got;
  if (required.over_out_gradient && !out_gradient_of(op)) {
    return "in-place=out_gradient needs softmax_backward or log_softmax_backward" + got;
  }
  return {};
}

JudgeOptions judge_options(Effort effort) {
  const EffortSize size = size_of(effort);
  JudgeOptions options;
  options.run.cases = size.cases;
  options.max_length = size.max_length;
  options.rows = size.rows;
  options.max_edge_length = size.max_edge_length;
  options.cover_elements = size.cover_elements;
  options.covers = size.covers;
  options.effort = effort;
  // Deep effort takes the time that it needs; quick effort needs far less.
  if (effort == Effort::normal) options.enough = std::chrono::seconds(55);
  return options;
}

JudgeOptions interruptible(JudgeOptions options) {
  options.run.interrupted = options.run.abandoned =
      options.limits.interrupted = [interrupted = options.interrupted, deadline = options.deadline] {
        return (interrupted && interrupted()) || std::chrono::steady_clock::now() >= deadline;
      };
  return options;
}

}  // namespace softcheck::proptests
