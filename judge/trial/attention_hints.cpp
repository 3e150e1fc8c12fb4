#include "judge/trial/attention_hints.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "judge/trial/command_line.hpp"

namespace softcheck::proptests {
namespace {

// Failing calls to test: a reading that is right in this many of them is not right by accident.
constexpr std::size_t max_probed = 8;

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

AttentionCase with_causality(AttentionCase attention, bool causal, bool top_left) {
  attention.causal = causal;
  attention.attributes.top_left = top_left;
  return attention;
}

AttentionCase with_scale(AttentionCase attention, double scale) {
  attention.scale = scale;
  return attention;
}

AttentionCase with_inverted_mask(AttentionCase attention) {
  for (std::uint8_t& visible : attention.mask) visible = visible == 0 ? 1 : 0;
  return attention;
}

// The calls that a kernel may have read into a given one.
struct Reading {
  const char* text;
  AttentionCase (*of)(const AttentionCase&);
};

constexpr std::array<Reading, AttentionHints::reading_count> readings{{
    {"of a call without causality", [](const AttentionCase& a) { return with_causality(a, false, false); }},
    {"of a causal call whose last query stands at the last key (domain causal)",
     [](const AttentionCase& a) { return with_causality(a, true, false); }},
    {"of a causal call whose first query stands at the first key (domain causal=top-left)",
     [](const AttentionCase& a) { return with_causality(a, true, true); }},
    {"of a call whose query head h reads key head h % kv_heads (domain heads=interleaved)",
     [](const AttentionCase& a) {
       const bool has_groups = a.shape.kv_heads > 1 && a.shape.group > 1 && !a.is_interleaved();
       return has_groups ? with_interleaved_heads(a) : a;
     }},
    {"of a call with scale 1: the scores are not scaled", [](const AttentionCase& a) { return with_scale(a, 1); }},
    {"of a call with scale 1/sqrt(dim), whatever scale the call has",
     [](const AttentionCase& a) {
       return with_scale(a, 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, a.shape.dim))));
     }},
    {"of a call whose scale is the square of this call's: the scores are scaled twice",
     [](const AttentionCase& a) { return with_scale(a, a.scale * a.scale); }},
    {"of a call with scale * ln 2: exp2 of scores that were not multiplied by log2(e)",
     [](const AttentionCase& a) { return with_scale(a, a.scale * std::numbers::ln2); }},
    {"of a call with the opposite mask, where true means hidden",
     [](const AttentionCase& a) { return with_inverted_mask(a); }},
}};

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
  for (std::size_t k = 0; k < readings.size(); ++k) {
    const AttentionCase other = readings[k].of(attention);
    if (other != attention && is_right(other)) ++right_[k];
  }
}

std::string AttentionHints::reading() const {
  const auto found = std::ranges::find(right_, probed_);
  if (probed_ == 0 || found == right_.end()) return "";
  const auto k = static_cast<std::size_t>(found - right_.begin());
  return "cause: the first " + std::to_string(probed_) +
         (probed_ == 1 ? " call that fails has" : " calls that fail have") + " the results " + readings[k].text;
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

std::string AttentionHints::block(Op op) const {
  constexpr std::uint64_t least = 7;  // fewer keys are no block
  const auto words = calls_.explanation();
  if (!words || words->unexplained) return "";
  const auto keys = words->domain.lengths.find("keys");
  if (keys == words->domain.lengths.end() || keys->second.most < least) return "";
  Domain few;
  few.lengths["keys"] = {0, keys->second.most, 1};
  if (to_string(few) != to_string(words->domain)) return "";
  const std::string what = op->is_linear() ? "classes" : "keys";
  return "cause: every call that fails has more than " + std::to_string(keys->second.most) + " " + what +
         ": look at how blocks of " + what + " are joined";
}

std::vector<std::string> AttentionHints::lines(const KernelSubject& subject) const {
  std::string line = reading();
  if (line.empty()) line = domain(subject);
  if (line.empty()) line = block(subject.op);
  return line.empty() ? std::vector<std::string>{} : std::vector<std::string>{line};
}

}  // namespace softcheck::proptests
