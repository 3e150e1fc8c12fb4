#include "proptests/judge/calls/refusals.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace softcheck::proptests {
namespace {

// More tell no more of what is taken and what is not.
constexpr std::size_t most_calls = 20000;
// As often as a kind of call is refused before it is asked no more: no accident.
constexpr std::ptrdiff_t no_accident = 16;

// A domain of one word that may be part of an explanation.
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
  // The smallest multiple first: of those that explain as much it promises least.
  for (std::uint64_t multiple = 2; multiple <= 4096; multiple *= 2) {
    words.push_back(with_range(name, {0, std::numeric_limits<std::uint64_t>::max(), multiple}));
  }
}

// Those that no accepted call breaks, the plainest first.
Words possible_words(const std::vector<CallTraits>& accepted) {
  Words words(21);
  words[0].no_mask = true;
  words[1].unit_theta = true;
  words[2].compact = true;
  words[3].finite = true;
  words[4].no_causal = true;
  words[5].usual_scale = true;
  words[6].contiguous = true;
  words[7].no_offset = true;
  words[8].no_smoothing = true;
  words[9].no_z_loss = true;
  words[10].one_ignore_index = true;
  words[11].base_e = true;
  words[12].base_2 = true;
  words[13].plain_weights = true;
  words[14].renormalized = true;
  words[15].no_softcap = true;
  words[16].no_class_weights = true;
  words[17].no_top_p = true;
  words[18].no_min_p = true;
  words[19].mean_only = true;
  words[20].sum_only = true;
  std::set<std::string> names;
  for (const CallTraits& call : accepted) {
    for (const auto& [name, length] : call.lengths) names.insert(name);
  }
  for (const std::string& name : names) add_lengths(accepted, name, words);
  for (std::uint64_t alignment = 2; alignment <= 4096; alignment *= 2) {
    words.emplace_back();
    words.back().alignment = alignment;
  }
  std::erase_if(words, [&](const Domain& word) {
    return std::ranges::any_of(accepted, [&](const CallTraits& call) { return !word.admits(call); });
  });
  return words;
}

void join(Domain& domain, const Domain& word) {
  domain.unit_theta |= word.unit_theta;
  domain.usual_scale |= word.usual_scale;
  domain.compact |= word.compact;
  domain.contiguous |= word.contiguous;
  domain.finite |= word.finite;
  domain.no_mask |= word.no_mask;
  domain.no_offset |= word.no_offset;
  domain.no_causal |= word.no_causal;
  domain.no_smoothing |= word.no_smoothing;
  domain.no_z_loss |= word.no_z_loss;
  domain.one_ignore_index |= word.one_ignore_index;
  domain.no_softcap |= word.no_softcap;
  domain.no_class_weights |= word.no_class_weights;
  domain.base_e |= word.base_e;
  domain.base_2 |= word.base_2;
  domain.plain_weights |= word.plain_weights;
  domain.renormalized |= word.renormalized;
  domain.mean_only |= word.mean_only;
  domain.sum_only |= word.sum_only;
  domain.no_top_p |= word.no_top_p;
  domain.no_min_p |= word.no_min_p;
  domain.alignment = std::max(domain.alignment, word.alignment);
  for (const auto& [name, range] : word.lengths) {
    LengthRange& joined = domain.lengths[name];
    joined = {std::max(joined.least, range.least), std::min(joined.most, range.most),
              std::max(joined.multiple, range.multiple)};
  }
}

}  // namespace

void RefusalLog::add(CallTraits call, bool refused) {
  if (refused) ++refusals_;
  // A kernel that looks at all strides refuses an odd one of a single row; one that does not takes it.
  if (!refused) call.compact = call.side_by_side;
  std::vector<CallTraits>& calls = refused ? refused_ : accepted_;
  if (calls.size() < most_calls) calls.push_back(std::move(call));
}

std::optional<RefusalLog::Explanation> RefusalLog::explanation() const {
  if (accepted_.empty() || refused_.empty()) return std::nullopt;
  const Words words = possible_words(accepted_);
  std::vector<CallTraits> open = refused_;
  Domain domain;
  while (!open.empty()) {
    const Domain* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Domain& word : words) {
      const auto explained = std::ranges::count_if(open, [&](const CallTraits& call) { return !word.admits(call); });
      if (explained > most) {
        most = explained;
        best = &word;
      }
    }
    if (best == nullptr) return Explanation{domain, open.front()};
    join(domain, *best);
    std::erase_if(open, [&](const CallTraits& call) { return !best->admits(call); });
  }
  // What the calls explained so far hide: words of other parameters that every taken call keeps and many refused break.
  for (const Domain& word : words) {
    if (!word.lengths.empty() || word.alignment > 1) continue;
    const auto broken = std::ranges::count_if(refused_, [&](const CallTraits& call) { return !word.admits(call); });
    if (broken >= no_accident) join(domain, word);
  }
  if (domain.compact) domain.contiguous = false;  // it says less
  return Explanation{domain, std::nullopt};
}

}  // namespace softcheck::proptests
