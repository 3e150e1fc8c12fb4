#include "judge/trial/effort_properties.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

std::vector<KernelProperty> properties_of(const KernelSubject& subject, const JudgeOptions& options, KernelTrial& trial,
                                          PropertyShare share) {
  return kernel_properties(subject, options, trial, share);
}

std::vector<KernelProperty> properties_of(const KernelSubject& subject, const JudgeOptions& options,
                                          AttentionTrial& trial, PropertyShare share) {
  return attention_properties(subject, options, trial, share);
}

// The options of quick effort within default effort. The number of cases keeps the ratio of both efforts if the caller
// changed it.
JudgeOptions quick_share(const KernelSubject& subject, const JudgeOptions& options) {
  const EffortSize quick = size_of(Effort::quick), normal = size_of(Effort::normal);
  JudgeOptions share = options;
  share.effort = Effort::quick;
  share.run.cases = std::max(1, options.run.cases * quick.cases / normal.cases);
  share.max_length = std::min(options.max_length, quick.max_length);
  share.max_edge_length = std::min(options.max_edge_length, quick.max_edge_length);
  share.cover_elements = std::min(options.cover_elements, quick.cover_elements);
  share.rows = std::min(options.rows, quick.rows);
  share.covers = quick.covers;
  limit_quick_rows(subject.op, share);
  return share;
}

template <class Trial>
std::vector<KernelProperty> all_properties(const KernelSubject& subject, const JudgeOptions& options, Trial& trial) {
  std::vector<KernelProperty> properties{loading_property(trial.watched())};
  const auto add = [&](std::vector<KernelProperty> more) { std::ranges::move(more, std::back_inserter(properties)); };
  if (options.effort == Effort::normal) {
    JudgeOptions rest = options;
    const JudgeOptions share = quick_share(subject, options);
    rest.run.cases = std::max(1, options.run.cases - share.run.cases);
    rest.rows = options.rows - share.rows;
    add(properties_of(subject, share, trial, PropertyShare::drawn));
    add(properties_of(subject, rest, trial, PropertyShare::all));
  } else {
    add(properties_of(subject, options, trial, PropertyShare::all));
  }
  std::erase_if(properties, [&](const KernelProperty& one) {
    return !options.only.empty() && std::ranges::find(options.only, one.property.sentence()) == options.only.end();
  });
  return properties;
}

}  // namespace

void limit_quick_rows(Op op, JudgeOptions& options) {
  const std::uint64_t most = op->quick_items;
  if (most == 0 || options.effort != Effort::quick) return;
  options.max_length = std::min(options.max_length, most);
  options.max_edge_length = std::min(options.max_edge_length, most);
}

std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial) {
  return all_properties(subject, options, trial);
}

std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              AttentionTrial& trial) {
  return all_properties(subject, options, trial);
}

namespace {

// The only case: loading the library.
struct LoadCase {};

constexpr const char* load_text = "load";

std::string to_text(const LoadCase&) { return load_text; }
std::size_t size_of(const LoadCase&) { return 0; }

void from_text(std::string_view text, LoadCase&) {
  if (text != load_text) {
    throw std::invalid_argument("from_text: need '" + std::string(load_text) + "', got '" + std::string(text) + "'");
  }
}

}  // namespace

KernelProperty loading_property(WatchedKernel& watched) {
  const auto check = [&watched](const LoadCase&) {
    return watched.without_exempt({observed("kernel.keeps_environment", CallDescription{loading_remark},
                                            watched.kernel().loading_changed_environment() ? 1 : 0)});
  };
  return {PropertyOf<LoadCase>{.suite = kernel_suite,
                               .sentence = loading_sentence,
                               .claims = {"kernel.keeps_environment"},
                               .generator = rc::gen::construct<LoadCase>(),
                               .check = check,
                               .listed = {LoadCase{}}},
          1};
}

}  // namespace softcheck::proptests
