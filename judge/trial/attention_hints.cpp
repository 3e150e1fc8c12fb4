#include "judge/trial/attention_hints.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/trial/command_line.hpp"

namespace softcheck::proptests {
namespace {

// Failing calls to test: a reading that is right in this many of them is not right by accident.
constexpr std::size_t max_probed = 8;

constexpr std::size_t interleaved_reading = 3;
constexpr std::array<const char*, 4> readings{
    "of a call without causality", "of a causal call whose last query stands at the last key (domain causal)",
    "of a causal call whose first query stands at the first key (domain causal=top-left)",
    "of a call whose query head h reads key head h % kv_heads (domain heads=interleaved)"};

std::size_t reading_of(const AttentionCase& attention) {
  return !attention.causal ? 0 : attention.attributes.top_left ? 2 : 1;
}

// The call in which query head h reads key head key_head(h) of the given one; it has a key head per query head.
AttentionCase with_key_heads(const AttentionCase& attention, const std::function<std::size_t(std::size_t)>& key_head) {
  const AttentionShape& s = attention.shape;
  AttentionCase other = attention;
  other.shape.kv_heads = s.heads();
  other.shape.group = 1;
  const auto spread = [&](const std::vector<double>& heads, std::vector<double>& result) {
    const auto size = static_cast<std::ptrdiff_t>(heads.size() / (s.batch * s.kv_heads));
    result.clear();
    for (std::size_t b = 0; b < s.batch; ++b) {
      for (std::size_t h = 0; h < s.heads(); ++h) {
        const auto head = heads.begin() + static_cast<std::ptrdiff_t>(b * s.kv_heads + key_head(h)) * size;
        result.insert(result.end(), head, head + size);
      }
    }
  };
  spread(attention.keys, other.keys);
  spread(attention.values, other.values);
  return other;
}

AttentionCase with_interleaved_heads(const AttentionCase& attention) {
  return with_key_heads(attention, [&](std::size_t h) { return h % attention.shape.kv_heads; });
}

// Does the domain restrict only heads, causality, masks and how lengths relate?
bool is_plain(const Domain& domain) {
  Domain words;
  for (bool Domain::*flag : {&Domain::no_causal, &Domain::all_causal, &Domain::equal_lengths, &Domain::fewer_queries,
                             &Domain::equal_dims, &Domain::no_mask}) {
    words.*flag = domain.*flag;
  }
  const auto group = domain.lengths.find("group");
  if (group != domain.lengths.end() && group->second.most == 1) words.lengths["group"] = group->second;
  return to_string(words) == to_string(domain);
}

bool is_finite(const AttentionCase& attention) {
  const auto all_finite = [](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
  };
  return attention.nan == 0 && all_finite(attention.queries) && all_finite(attention.keys) &&
         all_finite(attention.values) && all_finite(attention.gradients);
}

}  // namespace

std::vector<RemovedAttribute> without_each_attribute(const AttentionCase& attention) {
  std::vector<RemovedAttribute> removed;
  if (!is_finite(attention)) return removed;
  const auto add = [&](bool is_on, const std::string& name, auto remove) {
    if (!is_on) return;
    removed.push_back({name, attention});
    remove(removed.back().without);
  };
  const AttentionAttributes& of = attention.attributes;
  const auto side = [](const std::optional<std::size_t>& keys) { return keys ? std::to_string(*keys) : "all"; };
  add(of.window(), "window=" + side(of.window_left) + ":" + side(of.window_right),
      [](AttentionCase& a) { a.attributes.window_left = a.attributes.window_right = std::nullopt; });
  add(of.top_left, "alignment=top-left", [](AttentionCase& a) { a.attributes.top_left = false; });
  add(of.softcap != 0, "softcap=" + numerics::hex_float(of.softcap),
      [](AttentionCase& a) { a.attributes.softcap = 0; });
  add(!of.sinks.empty(), "sinks", [](AttentionCase& a) { a.attributes.sinks.clear(); });
  add(!of.slopes.empty(), "slopes (ALiBi)", [](AttentionCase& a) { a.attributes.slopes.clear(); });
  add(!of.bias.empty(), "bias", [](AttentionCase& a) { a.attributes.bias.clear(); });
  add(!of.kept.empty(), "dropout", [](AttentionCase& a) { a.attributes.kept.clear(); });
  add(!of.lse_gradients.empty(), "dlse", [](AttentionCase& a) { a.attributes.lse_gradients.clear(); });
  add(attention.causal, RemovedAttribute::causality, [](AttentionCase& a) { a.causal = false; });
  add(!attention.mask.empty(), RemovedAttribute::mask, [](AttentionCase& a) { a.mask.clear(); });
  if (attention.shape.group > 1 && attention.gradients.empty() && !attention.sequences.any()) {
    removed.push_back({RemovedAttribute::groups,
                       with_key_heads(attention, [&](std::size_t h) { return h / attention.shape.group; })});
  }
  return removed;
}

void AttentionHints::add(const AttentionCase& attention, bool failed) { calls_.add(traits_of(attention), failed); }

void AttentionHints::ask(const AttentionCase& attention, const std::function<bool(const AttentionCase&)>& is_right) {
  const bool is_dense = attention.gradients.empty() && !attention.sequences.any() && !attention.attributes.window();
  if (!is_dense || probed_ == max_probed || !is_finite(attention)) return;  // 0 * NaN fails under every reading
  ++probed_;
  const bool has_groups = attention.shape.kv_heads > 1 && attention.shape.group > 1;
  if (has_groups && !attention.is_interleaved() && is_right(with_interleaved_heads(attention)))
    ++right_[interleaved_reading];
  for (std::size_t k = 0; k < interleaved_reading; ++k) {
    AttentionCase other = attention;
    other.causal = k > 0;
    other.attributes.top_left = k == 2;
    if (k != reading_of(attention) && is_right(other)) ++right_[k];
  }
}

std::string AttentionHints::reading() const {
  const auto found = std::ranges::find(right_, probed_);
  if (probed_ == 0 || found == right_.end()) return "";
  const auto k = static_cast<std::size_t>(found - right_.begin());
  return "cause: the first " + std::to_string(probed_) +
         (probed_ == 1 ? " call that fails has" : " calls that fail have") + " the results " + readings[k];
}

std::string AttentionHints::domain(const KernelSubject& subject) const {
  const auto words = calls_.explanation(), inside = calls_.explanation(subject.domain);
  if (!words || words->unexplained || !inside || !is_plain(words->domain)) return "";
  KernelSubject smaller = subject;
  smaller.domain = inside->domain;
  const std::string also =
      inside->lost == 0 ? "" : " (and " + std::to_string(inside->lost) + " of those that are right)";
  return "every call that fails" + also + " lies outside the domain '" + to_string(smaller.domain) +
         "'; to judge the kernel inside it: " + command_line(smaller);
}

std::vector<std::string> AttentionHints::lines(const KernelSubject& subject) const {
  std::string line = reading();
  if (line.empty()) line = domain(subject);
  return line.empty() ? std::vector<std::string>{} : std::vector<std::string>{line};
}

}  // namespace softcheck::proptests
