#include "proptests/generators/domains/domain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "proptests/generators/domains/domain_words.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::array<std::string_view, 6> row_lengths{"n", "rows", "k", "groups", "kept", "group_items"};
constexpr std::array<std::string_view, 8> attention_lengths{"batch", "heads", "group",  "queries",
                                                            "keys",  "dim",   "values", "page"};
constexpr std::uint64_t most_alignment = 4096;  // a page: no buffer's address is a multiple of more

[[noreturn]] void refuse_word(std::string_view word, const std::string& need) {
  throw std::invalid_argument("domain: need " + need + ", got '" + std::string(word) + "'");
}

std::uint64_t number_of(std::string_view digits, std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse_word(word, "a whole number behind the sign");
  return value;
}

double bound_of(std::string_view digits, std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || !(value > 0) || std::isinf(value)) refuse_word(word, "a finite number > 0 behind the sign");
  return value;
}

bool is_length(std::string_view name, bool attention) {
  return attention ? std::ranges::find(attention_lengths, name) != attention_lengths.end()
                   : std::ranges::find(row_lengths, name) != row_lengths.end();
}

// Parses "1|3|17"; returns it ascending, without repetitions.
std::vector<std::uint64_t> lengths_of(std::string_view list, std::string_view word) {
  std::vector<std::uint64_t> lengths;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('|', begin), list.size());
    lengths.push_back(number_of(list.substr(begin, end - begin), word));
    begin = end + 1;
  }
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// Several lists intersect.
void keep_listed(const std::vector<std::uint64_t>& lengths, std::string_view word, LengthRange& range) {
  if (range.listed.empty()) {
    range.listed = lengths;
    return;
  }
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(range.listed, lengths, std::back_inserter(both));
  if (both.empty()) refuse_word(word, "a length that the list before it has, too");
  range.listed = std::move(both);
}

// Parses "n<=8192", "n=16k", "n=1|17", ...; false if the word is not about a length.
bool read_length(std::string_view word, bool attention, Domain& domain) {
  const std::size_t sign = word.find_first_of("<>=");
  if (sign == std::string_view::npos || !is_length(word.substr(0, sign), attention)) return false;
  LengthRange& range = domain.lengths[std::string(word.substr(0, sign))];
  std::string_view rest = word.substr(sign);
  if (rest.starts_with("<=")) {
    range.most = std::min(range.most, number_of(rest.substr(2), word));
  } else if (rest.starts_with(">=")) {
    range.least = std::max(range.least, number_of(rest.substr(2), word));
  } else if (rest.starts_with("=") && rest.find('|') != std::string_view::npos) {
    keep_listed(lengths_of(rest.substr(1), word), word, range);
  } else if (rest.starts_with("=") && rest.ends_with("k")) {
    const std::uint64_t multiple = number_of(rest.substr(1, rest.size() - 2), word);
    if (multiple == 0 || range.multiple != 1) refuse_word(word, "one multiple >= 1 of each length");
    range.multiple = multiple;
  } else if (rest.starts_with("=")) {
    range.least = range.most = number_of(rest.substr(1), word);
  } else {
    refuse_word(word, "=, <= or >= behind the length");
  }
  return true;
}

std::string words_of(const std::string& name, const LengthRange& range) {
  if (!range.listed.empty()) {
    std::string words;
    for (const std::uint64_t length : range.listed)
      words += (words.empty() ? name + "=" : "|") + std::to_string(length);
    return words;
  }
  if (range.least == range.most && range.multiple == 1) return name + "=" + std::to_string(range.least);
  const LengthRange any;
  std::string words;
  if (range.multiple != 1) words += " " + name + "=" + std::to_string(range.multiple) + "k";
  if (range.least != any.least) words += " " + name + ">=" + std::to_string(range.least);
  if (range.most != any.most) words += " " + name + "<=" + std::to_string(range.most);
  return words.empty() ? words : words.substr(1);
}

// Combines a list with the other words about the length: keeps the listed lengths that satisfy all, maybe none.
LengthRange narrowed(LengthRange range) {
  const std::vector<std::uint64_t> listed = std::exchange(range.listed, {});
  std::vector<std::uint64_t> kept;
  std::ranges::copy_if(listed, std::back_inserter(kept), [&](std::uint64_t length) { return range.contains(length); });
  if (kept.empty()) return {1, 0};
  LengthRange result{kept.front(), kept.back()};
  if (kept.size() > 1) result.listed = std::move(kept);
  return result;
}

using Calls = DomainWord::Calls;

bool speaks_of(const DomainRow& word, bool attention) {
  return word.described.calls == Calls::both || word.described.calls == (attention ? Calls::attention : Calls::rows);
}

std::string known_words(bool attention) {
  std::string names;
  for (const std::string_view name : row_lengths) names += attention ? "" : std::string(name) + " ";
  for (const std::string_view name : attention_lengths) names += attention ? std::string(name) + " " : "";
  std::string text = "a length (" + names.substr(0, names.size() - 1) + ") with =V, =V|V|..., <=V, >=V or =Vk";
  for (const DomainRow& word : domain_rows()) {
    if (!speaks_of(word, attention)) continue;
    text += ", " + std::string(word.described.word) + (word.described.word.ends_with('=') ? "V" : "");
  }
  return text;
}

// The list of words is long: what was got stands before it.
[[noreturn]] void refuse_unknown(std::string_view text, bool attention, bool of_others) {
  Domain others;
  of_others = of_others || read_length(text, !attention, others);
  throw std::invalid_argument(
      std::string("domain: need a word of ") + (attention ? "attention" : "rows") + ", got '" + std::string(text) +
      "'" + (of_others ? std::string(", which is one of ") + (attention ? "rows" : "attention") : "") + ": " +
      known_words(attention));
}

void read_word(std::string_view text, bool attention, Domain& domain) {
  const std::span<const DomainRow> rows = domain_rows();
  const auto word = std::ranges::find(rows, text, [](const DomainRow& w) { return w.described.word; });
  const bool is_known = word != rows.end() && word->set != nullptr && speaks_of(*word, attention);
  for (const DomainRow& row : rows) {
    if (row.bound == nullptr || !text.starts_with(row.described.word)) continue;
    domain.*row.bound = std::min(domain.*row.bound, bound_of(text.substr(row.described.word.size()), text));
    return;
  }
  if (!is_known && read_length(text, attention, domain)) return;
  constexpr std::string_view align = "align=";
  if (text.starts_with(align)) {
    domain.alignment = number_of(text.substr(align.size()), text);
    if (!std::has_single_bit(domain.alignment) || domain.alignment > most_alignment) {
      refuse_word(text, "a power of two up to 4096 bytes");
    }
    return;
  }
  if (!is_known) refuse_unknown(text, attention, word != rows.end());
  word->set(domain);
  if (word->other == nullptr || !(domain.*(word->other))) return;
  Domain other;
  other.*(word->other) = true;
  const auto excluded = std::ranges::find_if(rows, [&](const DomainRow& w) { return w.is_set(other); });
  refuse_word(text, "one of " + std::string(excluded->described.word) + " and " + std::string(text));
}

std::string shortest(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// Calls each(words, kept) for each part of the domain; words() writes the part's words, which are rarely needed.
template <class Each>
void each_part(const Domain& domain, const CallTraits& call, Each each) {
  for (const auto& [name, range] : domain.lengths) {
    const auto length = call.lengths.find(name);
    const bool kept = length == call.lengths.end() || range.contains(length->second);
    each([&, &range = range, &name = name] { return words_of(name, range); }, kept);
  }
  for (const DomainRow& word : domain_rows()) {
    if (!word.is_set(domain)) continue;
    const auto text = [&] {
      const std::string is(word.described.word);
      if (word.bound != nullptr) return is + shortest(domain.*word.bound);
      return is + (is.ends_with('=') ? std::to_string(domain.alignment) : "");
    };
    if (word.bound != nullptr) {
      each(text, (word.bound == &Domain::most_logit ? call.logits : call.spread) <= domain.*word.bound);
    } else {
      each(text, word.keeps == nullptr ? call.alignment >= domain.alignment : word.keeps(call));
    }
  }
}

}  // namespace

LengthRange Domain::length(std::string_view name) const {
  const auto found = lengths.find(name);
  return found == lengths.end() ? LengthRange{} : found->second;
}

bool Domain::has_attributes() const {
  return window || softcap || sinks || alibi || bias || dropout || lse_gradients || interleaved ||
         causal != CausalAlignment::bottom_right;
}

bool Domain::bounds_logits() const { return std::isfinite(most_logit) || std::isfinite(most_spread); }

bool Domain::admits(const CallTraits& call) const {
  bool all = true;
  each_part(*this, call, [&](const auto&, bool kept) { all &= kept; });
  return all;
}

std::string Domain::broken_by(const CallTraits& call) const {
  std::string words;
  each_part(*this, call, [&](const auto& part, bool kept) {
    if (!kept) words += (words.empty() ? "" : " ") + part();
  });
  return words;
}

namespace {

// Where a word relates two lengths, each of them has the values that the other one leaves.
void relate_lengths(Domain& domain) {
  const auto equate = [&](const char* first, const char* second, std::string_view word) {
    const LengthRange both = intersection(domain.length(first), domain.length(second));
    if (!both.contains(both.nearest(both.least))) refuse_word(word, "a length that both can have");
    domain.lengths[first] = domain.lengths[second] = both;
  };
  if (domain.equal_lengths) equate("queries", "keys", "queries=keys");
  if (domain.equal_dims) equate("dim", "values", "values=dim");
  const auto may_be_less = [&](const char* first, const char* second) {
    const LengthRange less = domain.length(first), more = domain.length(second);
    return more.at_least(less.nearest(less.least)).has_value();
  };
  if (domain.fewer_queries && !may_be_less("queries", "keys")) {
    refuse_word("queries<=keys", "a number of keys that is as large as some number of queries");
  }
  if (domain.values_view && !may_be_less("values", "dim")) {
    refuse_word("values=view", "a dim that is as large as some number of values");
  }
}

// All calls of a router have the same number.
void require_one(const Domain& domain, std::string_view name, std::uint64_t most) {
  const auto found = domain.lengths.find(name);
  if (found == domain.lengths.end()) return;
  const LengthRange& given = found->second;
  if (given.least == given.most && given.least >= 1 && given.most <= most) return;
  const std::string needed = std::string(name) + "=V of one V from 1 to " + std::to_string(most);
  const std::string got = words_of(found->first, given);
  refuse_word(got.empty() ? name : got, needed);
}

// A router's inputs are finite. Its items fall into groups of one size, of which those kept have k items.
void complete_router(Domain& domain) {
  domain.finite |= domain.routes();
  constexpr std::uint64_t most_groups = 127;
  require_one(domain, "groups", most_groups);
  require_one(domain, "kept", domain.lengths.contains("groups") ? domain.length("groups").most : most_groups);
  require_one(domain, "group_items", 2);
  if (!domain.has_groups()) return;
  const std::uint64_t groups = std::max<std::uint64_t>(routed_length(domain, "groups"), 1);
  const std::uint64_t kept = std::clamp<std::uint64_t>(routed_length(domain, "kept"), 1, groups);
  const LengthRange k = domain.length("k");
  const std::uint64_t chosen = k.least == k.most ? k.least : std::max<std::uint64_t>(k.least, 1);
  const std::uint64_t size = std::max(routed_length(domain, "group_items"), (chosen + kept - 1) / kept);
  const LengthRange all{.least = groups * std::max<std::uint64_t>(size, 1), .multiple = groups};
  domain.lengths["n"] = intersection(domain.length("n"), all);
  const LengthRange& n = domain.lengths["n"];
  if (!n.contains(n.nearest(n.least))) {
    refuse_word("groups=" + std::to_string(groups), "an n of which so many equal groups of enough items are made");
  }
}

}  // namespace

std::uint64_t routed_length(const Domain& domain, std::string_view name) {
  return domain.lengths.contains(name) ? domain.length(name).nearest(8) : 0;
}

Domain parse_domain(std::string_view words, bool attention) {
  Domain domain;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find_first_of(" ,"), words.size());
    if (end > 0) read_word(words.substr(0, end), attention, domain);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  if (domain.has_sequences()) {  // the ABI has no such masks
    domain.no_mask = true;
    if (domain.bias) refuse_word("bias", "no bias beside packed or pages");
    if (domain.dropout) refuse_word("dropout", "no dropout beside packed or pages");
  }
  for (auto& [name, range] : domain.lengths) {
    const LengthRange given = range;
    if (!range.listed.empty()) range = narrowed(std::move(range));
    if (range.contains(range.nearest(range.least))) continue;
    refuse_word(words_of(name, given), "a length " + name + " that some call can have");
  }
  relate_lengths(domain);
  if (!attention) complete_router(domain);
  // A row of no classes has no label, and one of no items no visible one.
  if (domain.no_ignored || (domain.all_see && !attention)) {
    const std::string_view name = attention ? "keys" : "n";
    domain.lengths[std::string(name)] = intersection(domain.length(name), {.least = 1});
  }
  std::erase_if(domain.lengths, [](const auto& entry) { return entry.second.everything(); });
  return domain;
}

std::string to_string(const CallTraits& call) {
  std::string text;
  for (const auto& [name, length] : call.lengths) text += name + "=" + std::to_string(length) + " ";
  char theta[40];
  std::snprintf(theta, sizeof theta, "theta=%g", call.theta);
  text += theta;
  text += call.compact ? ", compact" : call.contiguous ? ", with strides" : ", with column strides";
  if (call.offset) text += ", with a byte offset";
  if (!call.finite) text += ", not finite";
  if (call.masked) text += ", masked";
  if (call.blind) text += ", a row sees nothing";
  if (call.causal) text += ", causal";
  if (call.top_left) text += ", aligned top-left";
  if (call.interleaved) text += ", with interleaved heads";
  if (call.window) text += ", with a window";
  if (call.softcap) text += ", with a softcap";
  if (call.sinks) text += ", with sinks";
  if (call.alibi) text += ", with slopes";
  if (call.bias) text += ", with a bias";
  if (call.dropout) text += ", with dropout";
  if (call.packed) text += ", packed";
  if (call.pages) text += ", in pages";
  if (call.label_smoothing != 0) text += ", with label smoothing";
  if (call.z_loss != 0) text += ", with a z-loss";
  if (call.class_weights) text += ", with class weights";
  if (call.lse_base2) text += ", in base 2";
  if (call.renormalize) text += ", renormalized";
  if (call.mean) text += ", a mean";
  if (call.top_p != 0) text += ", with top_p";
  if (call.min_p != 0) text += ", with min_p";
  if (call.sigmoid) text += ", of sigmoids";
  if (call.routed_scale != 0) text += ", scaled";
  if (call.ignore_index != usual_ignore_index) text += ", ignore_index " + std::to_string(call.ignore_index);
  return text;
}

std::vector<DomainWord> domain_words() {
  std::vector<DomainWord> words;
  for (const DomainRow& word : domain_rows()) {
    if (word.described.calls != Calls::none) words.push_back(word.described);
  }
  return words;
}

std::string to_string(const Domain& domain) {
  std::string words;
  each_part(domain, CallTraits{}, [&](const auto& part, bool) { words += (words.empty() ? "" : " ") + part(); });
  return words;
}

}  // namespace softcheck::proptests
