#include "judge/call/refusals.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace softcheck::proptests {
namespace {

// More calls than this do not improve the explanation.
constexpr std::size_t most_calls = 20000;
// After this many refusals the judge stops making a kind of call (watched_kernel.cpp); so many are no accident.
constexpr std::ptrdiff_t no_accident = 16;

// Domains of one word each: candidates for an explanation.
using Words = std::vector<Domain>;

Domain with_range(const std::string& name, const LengthRange& range) {
  Domain domain;
  domain.lengths[name] = range;
  return domain;
}

void add_lengths(const std::vector<CallTraits>& accepted, const std::string& name, Words& words) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), most = 0;
  for (const CallTraits& call : accepted) {
    const auto length = call.lengths.find(name);
    if (length == call.lengths.end()) continue;
    least = std::min(least, length->second);
    most = std::max(most, length->second);
  }
  if (most < least) return;
  words.push_back(with_range(name, {0, most, 1}));
  words.push_back(with_range(name, {least, std::numeric_limits<std::uint64_t>::max(), 1}));
  words.push_back(with_range(name, {least, most, 1}));
  // Smallest multiple first: it restricts the least among those that explain as much.
  for (std::uint64_t multiple = 2; multiple <= 4096; multiple *= 2) {
    words.push_back(with_range(name, {0, std::numeric_limits<std::uint64_t>::max(), multiple}));
  }
}

// Words without a number, the simplest first.
constexpr bool Domain::*plain_words[] = {
    &Domain::no_mask,          &Domain::unit_theta,    &Domain::compact,          &Domain::finite,
    &Domain::no_causal,        &Domain::usual_scale,   &Domain::contiguous,       &Domain::no_offset,
    &Domain::no_smoothing,     &Domain::no_z_loss,     &Domain::one_ignore_index, &Domain::base_e,
    &Domain::base_2,           &Domain::plain_weights, &Domain::renormalized,     &Domain::no_softcap,
    &Domain::no_class_weights, &Domain::no_top_p,      &Domain::no_min_p,         &Domain::mean_only,
    &Domain::sum_only,         &Domain::all_causal,    &Domain::equal_lengths,    &Domain::fewer_queries,
    &Domain::equal_dims,       &Domain::zero_parts,    &Domain::all_see,          &Domain::forward_only,
    &Domain::reverse_only};

// Simplest first.
Words all_words(const std::vector<CallTraits>& accepted) {
  Words words;
  for (bool Domain::*word : plain_words) words.emplace_back().*word = true;
  std::set<std::string> names;
  for (const CallTraits& call : accepted) {
    for (const auto& [name, length] : call.lengths) names.insert(name);
  }
  for (const std::string& name : names) add_lengths(accepted, name, words);
  for (std::uint64_t alignment = 2; alignment <= 4096; alignment *= 2) {
    words.emplace_back();
    words.back().alignment = alignment;
  }
  return words;
}

void join(Domain& domain, const Domain& word) {
  for (bool Domain::*flag : plain_words) domain.*flag |= word.*flag;
  domain.visible_nan |= word.visible_nan;
  domain.alignment = std::max(domain.alignment, word.alignment);
  domain.most_logit = std::min(domain.most_logit, word.most_logit);
  domain.most_spread = std::min(domain.most_spread, word.most_spread);
  for (const auto& [name, range] : word.lengths) {
    LengthRange& length = domain.lengths[name];
    length = intersection(length, range);
  }
}

Domain joined(Domain domain, const Words& words) {
  for (const Domain& word : words) join(domain, word);
  return domain;
}

std::ptrdiff_t broken_by(const std::vector<CallTraits>& calls, const Domain& domain) {
  return std::ranges::count_if(calls, [&](const CallTraits& call) { return !domain.admits(call); });
}

Words possible_words(const std::vector<CallTraits>& accepted) {
  Words words = all_words(accepted);
  std::erase_if(words, [&](const Domain& word) { return broken_by(accepted, word) > 0; });
  return words;
}

// The word that excludes all of these calls at the smallest cost in accepted calls. A word with a number must keep more
// than half of the accepted calls, other words at least one. Words that force a length to 1 win: the kernel lacks that
// axis. Such a kernel may still accept other lengths by broadcasting, as a single-head kernel accepts a group that
// shares one key head.
std::optional<Domain> costly_word(const std::vector<CallTraits>& open, const std::vector<CallTraits>& accepted) {
  Words candidates = all_words(accepted);
  for (const auto& [name, first] : open.front().lengths) {
    std::uint64_t least = first, most = first;
    for (const CallTraits& call : open) {
      const auto length = call.lengths.find(name);
      if (length == call.lengths.end()) continue;
      least = std::min(least, length->second);
      most = std::max(most, length->second);
    }
    if (least > 0) candidates.push_back(with_range(name, {0, least - 1, 1}));
    candidates.push_back(with_range(name, {most + 1, std::numeric_limits<std::uint64_t>::max(), 1}));
  }
  const auto has_no_axis = [](const Domain& word) {
    return !word.lengths.empty() && word.lengths.begin()->second.most == 1;
  };
  std::optional<Domain> best;
  std::ptrdiff_t fewest = 0;
  for (const Domain& word : candidates) {
    const std::ptrdiff_t broken = broken_by(accepted, word);
    const bool ties = word.equal_lengths || word.fewer_queries || word.equal_dims;
    const bool is_plain = word.lengths.empty() && word.alignment == 1 && !ties;
    if ((is_plain ? broken : 2 * broken) >= std::ssize(accepted) || broken_by(open, word) < std::ssize(open)) continue;
    if (!best || std::pair(!has_no_axis(word), broken) < std::pair(!has_no_axis(*best), fewest)) {
      fewest = broken;
      best = word;
    }
  }
  return best;
}

// Bounds of the accepted calls' logits that exclude all of these calls: what a kernel can hardly refuse by, so the last
// resort.
std::optional<Domain> bound_of_logits(const std::vector<CallTraits>& open, const std::vector<CallTraits>& accepted) {
  for (const auto& [bound, trait] :
       {std::pair{&Domain::most_logit, &CallTraits::logits}, std::pair{&Domain::most_spread, &CallTraits::spread}}) {
    Domain word;
    word.*bound = std::ranges::max(accepted, {}, trait).*trait;
    if (word.*bound > 0 && word.bounds_logits() && broken_by(open, word) == std::ssize(open)) return word;
  }
  return std::nullopt;
}

// Drops each word that the remaining words make redundant.
void drop_needless(Words& chosen, const std::vector<CallTraits>& refused) {
  for (std::size_t i = 0; i < chosen.size();) {
    Words others = chosen;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (broken_by(refused, joined({}, others)) == std::ssize(refused)) {
      chosen = std::move(others);
    } else {
      ++i;
    }
  }
}

bool has_length(const CallTraits& call, std::string_view name, std::uint64_t least, std::uint64_t most) {
  const auto length = call.lengths.find(name);
  return length != call.lengths.end() && length->second >= least && length->second <= most;
}

bool is_square(const CallTraits& call) {
  const auto queries = call.lengths.find("queries"), keys = call.lengths.find("keys");
  return queries == call.lengths.end() || keys == call.lengths.end() || queries->second == keys->second;
}

struct Feature {
  std::string words;
  std::function<bool(const CallTraits&)> has;
  bool is_length = false;
};

// Of two features that explain as much, the report names the first: the simpler one.
const std::vector<Feature>& features() {
  static const std::vector<Feature> all{
      {"masks", [](const CallTraits& c) { return c.masked; }},
      {"grouped heads", [](const CallTraits& c) { return has_length(c, "group", 2, -1); }},
      {"causal", [](const CallTraits& c) { return c.causal; }},
      {"causal with queries != keys", [](const CallTraits& c) { return c.causal && !is_square(c); }},
      {"strides", [](const CallTraits& c) { return !c.compact; }},
      {"strided columns", [](const CallTraits& c) { return !c.contiguous; }},
      {"byte offsets", [](const CallTraits& c) { return c.offset; }},
      {"NaN or infinities", [](const CallTraits& c) { return !c.finite; }},
      {"theta != 1", [](const CallTraits& c) { return c.theta != 1; }},
      {"no keys", [](const CallTraits& c) { return has_length(c, "keys", 0, 0); }},
      {"no queries", [](const CallTraits& c) { return has_length(c, "queries", 0, 0); }},
      {"batch 0", [](const CallTraits& c) { return has_length(c, "batch", 0, 0); }},
      {"no rows", [](const CallTraits& c) { return has_length(c, "rows", 0, 0); }},
      {"n = 0", [](const CallTraits& c) { return has_length(c, "n", 0, 0); }},
      {"label smoothing", [](const CallTraits& c) { return c.label_smoothing != 0; }},
      {"z-loss", [](const CallTraits& c) { return c.z_loss != 0; }},
      {"softcap", [](const CallTraits& c) { return c.softcap; }},
      {"class weights", [](const CallTraits& c) { return c.class_weights; }},
      {"ignore_index != -100", [](const CallTraits& c) { return c.ignore_index != usual_ignore_index; }},
      {"base 2", [](const CallTraits& c) { return c.lse_base2; }},
      {"base e", [](const CallTraits& c) { return !c.lse_base2; }},
      {"renormalize = 1", [](const CallTraits& c) { return c.renormalize; }},
      {"renormalize = 0", [](const CallTraits& c) { return !c.renormalize; }},
      {"mean = 1", [](const CallTraits& c) { return c.mean; }},
      {"mean = 0", [](const CallTraits& c) { return !c.mean; }},
      {"reverse = 1", [](const CallTraits& c) { return c.reverse; }},
      {"reverse = 0", [](const CallTraits& c) { return !c.reverse; }},
      {"sigmoids", [](const CallTraits& c) { return c.sigmoid; }},
      {"a softmax", [](const CallTraits& c) { return !c.sigmoid; }},
      {"groups", [](const CallTraits& c) { return c.lengths.contains("groups"); }},
      {"routed_scale", [](const CallTraits& c) { return c.routed_scale != 0; }},
      {"top_p", [](const CallTraits& c) { return c.top_p != 0; }},
      {"min_p", [](const CallTraits& c) { return c.min_p != 0; }},
      {"windows", [](const CallTraits& c) { return c.window; }},
      {"sinks", [](const CallTraits& c) { return c.sinks; }},
      {"slopes", [](const CallTraits& c) { return c.alibi; }},
      {"bias", [](const CallTraits& c) { return c.bias; }},
      {"dropout", [](const CallTraits& c) { return c.dropout; }},
      {"top-left alignment", [](const CallTraits& c) { return c.top_left; }},
  };
  return all;
}

// Lengths and alignments that no accepted call has: "n<=8192" says that the kernel refuses longer rows.
std::vector<Feature> features_of_lengths(const std::vector<CallTraits>& accepted) {
  std::vector<Feature> result;
  for (const Domain& word : possible_words(accepted)) {
    if (word.lengths.empty() && word.alignment == 1) continue;
    result.push_back(
        {"calls outside " + to_string(word), [word](const CallTraits& call) { return !word.admits(call); }, true});
  }
  return result;
}

// True if many refused calls have the feature and no chosen feature implies it. (No accepted call has it.)
bool is_told_besides(const Feature& feature, const std::vector<CallTraits>& refused,
                     const std::set<const Feature*>& chosen) {
  if (feature.is_length || std::ranges::count_if(refused, feature.has) < no_accident) return false;
  return std::ranges::none_of(chosen, [&](const Feature* other) {
    return std::ranges::all_of(refused, [&](const CallTraits& call) { return !feature.has(call) || other->has(call); });
  });
}

}  // namespace

std::string RefusalLog::in_words() const {
  if (accepted_.empty() || refused_.empty()) return "";
  std::vector<Feature> possible = features();
  std::ranges::move(features_of_lengths(accepted_), std::back_inserter(possible));
  std::erase_if(possible, [&](const Feature& feature) { return std::ranges::any_of(accepted_, feature.has); });
  std::vector<CallTraits> open = refused_;
  std::set<const Feature*> chosen;
  while (!open.empty()) {
    const Feature* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Feature& feature : possible) {
      const std::ptrdiff_t explained = std::ranges::count_if(open, feature.has);
      if (explained <= most || (feature.is_length && explained < no_accident)) continue;
      most = explained;
      best = &feature;
    }
    if (best == nullptr) break;
    chosen.insert(best);
    std::erase_if(open, best->has);
  }
  for (const Feature& feature : possible) {
    if (is_told_besides(feature, refused_, chosen)) chosen.insert(&feature);
  }
  std::string words;
  for (const Feature* feature : chosen) words += (words.empty() ? "" : ", ") + feature->words;
  if (open.empty() || words.empty()) return words;
  return words + " and " + std::to_string(open.size()) + (open.size() == 1 ? " other" : " others");
}

void RefusalLog::add(CallTraits call, bool refused) {
  if (refused) ++refusals_;
  // Size-1 dimensions may have any stride. A kernel may refuse an odd one or ignore it, so an accepted call counts as
  // compact if its elements are contiguous.
  if (!refused) call.compact = call.side_by_side;
  std::vector<CallTraits>& calls = refused ? refused_ : accepted_;
  if (calls.size() < most_calls) calls.push_back(std::move(call));
}

std::optional<RefusalLog::Explanation> RefusalLog::explanation(const Domain& within) const {
  if (accepted_.empty() || refused_.empty()) return std::nullopt;
  const Words words = possible_words(accepted_);
  std::vector<CallTraits> open = refused_;
  Words chosen;
  while (!open.empty()) {
    const Domain* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Domain& word : words) {
      const std::ptrdiff_t explained = broken_by(open, word);
      if (explained > most) {
        most = explained;
        best = &word;
      }
    }
    std::optional<Domain> costly;
    if (best == nullptr) costly = bound_of_logits(open, accepted_);
    if (best == nullptr && !costly) costly = costly_word(open, accepted_);
    if (best == nullptr && !costly) return Explanation{joined(within, chosen), open.front(), 0};
    chosen.push_back(best == nullptr ? *costly : *best);
    std::erase_if(open, [&](const CallTraits& call) { return !chosen.back().admits(call); });
  }
  drop_needless(chosen, refused_);
  // Also add words of other parameters that every accepted call keeps and many refused ones break: the calls explained
  // so far may hide them.
  for (const Domain& word : words) {
    if (!word.lengths.empty() || word.alignment > 1) continue;
    if (broken_by(refused_, word) >= no_accident) chosen.push_back(word);
  }
  Domain domain = joined(within, chosen);
  if (domain.compact) domain.contiguous = false;  // compact implies contiguous
  return Explanation{domain, std::nullopt, static_cast<std::size_t>(broken_by(accepted_, domain))};
}

}  // namespace softcheck::proptests
