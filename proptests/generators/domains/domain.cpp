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

namespace softcheck::proptests {
namespace {

constexpr std::array<std::string_view, 3> row_lengths{"n", "rows", "k"};
constexpr std::array<std::string_view, 8> attention_lengths{"batch", "heads", "group",  "queries",
                                                            "keys",  "dim",   "values", "page"};
constexpr std::uint64_t most_alignment = 4096;  // a page: no buffer begins at a rounder address

std::string known_words(bool attention) {
  std::string names;
  for (const std::string_view name : row_lengths) names += attention ? "" : std::string(name) + " ";
  for (const std::string_view name : attention_lengths) names += attention ? std::string(name) + " " : "";
  return "a length (" + names.substr(0, names.size() - 1) +
         ") with =V, =V|V|..., <=V, >=V or =Vk, compact, contiguous, align=V, finite, nan=visible, nomask, nooffset, " +
         (attention
              ? "nocausal, scale=1/sqrt(dim), window, softcap, sinks, dsinks, alibi, bias, dbias, dlse, "
                "causal=top-left|either, "
                "packed or pages"
              : "theta=1, nosmoothing, nozloss, nosoftcap, noweights, ignore=-100, base=e, base=2, renormalize=0, "
                "renormalize=1, reduction=mean, reduction=sum, top_p=0 or min_p=0");
}

[[noreturn]] void refuse_word(std::string_view word, const std::string& need) {
  throw std::invalid_argument("domain: need " + need + ", got '" + std::string(word) + "'");
}

std::uint64_t number_of(std::string_view digits, std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse_word(word, "a whole number behind the sign");
  return value;
}

bool is_length(std::string_view name, bool attention) {
  return attention ? std::ranges::find(attention_lengths, name) != attention_lengths.end()
                   : std::ranges::find(row_lengths, name) != row_lengths.end();
}

// "1|3|17": ascending, each once.
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

// Lists narrow each other.
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

// "n<=8192", "n=16k", "n=1|17", ... ; false where the word is no length's.
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

// The words by which a domain has more calls, not fewer.
constexpr std::array<std::pair<std::string_view, bool Domain::*>, 6> attribute_words{
    {{"window", &Domain::window},
     {"softcap", &Domain::softcap},
     {"sinks", &Domain::sinks},
     {"alibi", &Domain::alibi},
     {"bias", &Domain::bias},
     {"dlse", &Domain::lse_gradients}}};

bool read_attribute(std::string_view word, bool attention, Domain& domain) {
  if (!attention) return false;
  for (const auto& [name, member] : attribute_words) {
    if (word == name) return domain.*member = true;
  }
  if (word == "dsinks") return domain.sinks = domain.sink_gradients = true;
  if (word == "dbias") return domain.bias = domain.bias_gradient = true;
  if (word == "packed" || word == "pages") {
    (word == "packed" ? domain.packed : domain.pages) = true;
    return true;
  }
  if (word == "causal=top-left") domain.causal = CausalAlignment::top_left;
  if (word == "causal=either") domain.causal = CausalAlignment::either;
  return word == "causal=top-left" || word == "causal=either";
}

void read_word(std::string_view word, bool attention, Domain& domain) {
  if (read_length(word, attention, domain) || read_attribute(word, attention, domain)) return;
  if (word == "compact") {
    domain.compact = true;
  } else if (word == "contiguous") {
    domain.contiguous = true;
  } else if (word == "finite") {
    domain.finite = true;
  } else if (word == "nan=visible") {
    domain.visible_nan = true;
  } else if (word == "nomask") {
    domain.no_mask = true;
  } else if (word == "nooffset") {
    domain.no_offset = true;
  } else if (word == "theta=1" && !attention) {
    domain.unit_theta = true;
  } else if (word == "nosmoothing" && !attention) {
    domain.no_smoothing = true;
  } else if (word == "nozloss" && !attention) {
    domain.no_z_loss = true;
  } else if (word == "nosoftcap" && !attention) {
    domain.no_softcap = true;
  } else if (word == "noweights" && !attention) {
    domain.no_class_weights = true;
  } else if (word == "ignore=-100" && !attention) {
    domain.one_ignore_index = true;
  } else if ((word == "base=e" || word == "base=2") && !attention) {
    (word == "base=e" ? domain.base_e : domain.base_2) = true;
    if (domain.base_e && domain.base_2) refuse_word(word, "one base");
  } else if ((word == "renormalize=0" || word == "renormalize=1") && !attention) {
    (word == "renormalize=0" ? domain.plain_weights : domain.renormalized) = true;
    if (domain.plain_weights && domain.renormalized) refuse_word(word, "one of renormalize=0 and renormalize=1");
  } else if ((word == "reduction=mean" || word == "reduction=sum") && !attention) {
    (word == "reduction=mean" ? domain.mean_only : domain.sum_only) = true;
    if (domain.mean_only && domain.sum_only) refuse_word(word, "one of reduction=mean and reduction=sum");
  } else if (word == "top_p=0" && !attention) {
    domain.no_top_p = true;
  } else if (word == "min_p=0" && !attention) {
    domain.no_min_p = true;
  } else if (word == "nocausal" && attention) {
    domain.no_causal = true;
  } else if (word == "scale=1/sqrt(dim)" && attention) {
    domain.usual_scale = true;
  } else if (word.starts_with("align=")) {
    domain.alignment = number_of(word.substr(6), word);
    if (!std::has_single_bit(domain.alignment) || domain.alignment > most_alignment) {
      refuse_word(word, "a power of two up to 4096 bytes");
    }
  } else {
    refuse_word(word, known_words(attention));
  }
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

// A list and the words beside it as one: those that all of them let be, which may be none.
LengthRange narrowed(LengthRange range) {
  const std::vector<std::uint64_t> listed = std::exchange(range.listed, {});
  std::vector<std::uint64_t> kept;
  std::ranges::copy_if(listed, std::back_inserter(kept), [&](std::uint64_t length) { return range.contains(length); });
  if (kept.empty()) return {1, 0};
  LengthRange result{kept.front(), kept.back()};
  if (kept.size() > 1) result.listed = std::move(kept);
  return result;
}

// Is it of any consequence where a query stands?
bool counts_from_an_end(const CallTraits& call) {
  const auto queries = call.lengths.find("queries"), keys = call.lengths.find("keys");
  const bool unequal = queries == call.lengths.end() || keys == call.lengths.end() || queries->second != keys->second;
  return unequal && (call.causal || call.window || call.alibi);
}

// Each part of the domain as words, and whether the call keeps to it.
// each(words, kept) takes a function that writes the words, which are seldom wanted.
template <class Each>
void each_part(const Domain& domain, const CallTraits& call, Each each_written) {
  const auto each = [&](const char* words, bool kept) { each_written([words] { return std::string(words); }, kept); };
  for (const auto& [name, range] : domain.lengths) {
    const auto length = call.lengths.find(name);
    const bool kept = length == call.lengths.end() || range.contains(length->second);
    each_written([&, &range = range, &name = name] { return words_of(name, range); }, kept);
  }
  if (domain.unit_theta) each("theta=1", call.theta == 1);
  if (domain.usual_scale) {
    const auto dim = call.lengths.find("dim");
    each("scale=1/sqrt(dim)",
         dim == call.lengths.end() || call.scale == 1 / std::sqrt(static_cast<double>(dim->second)));
  }
  if (domain.compact) each("compact", call.compact);
  if (domain.contiguous) each("contiguous", call.contiguous);
  if (domain.alignment > 1) {
    each_written([&] { return "align=" + std::to_string(domain.alignment); }, call.alignment >= domain.alignment);
  }
  if (domain.finite) each("finite", call.finite);
  if (domain.visible_nan) each("nan=visible", !call.infinite);
  if (domain.no_infinity) each("its dtype's numbers", !call.infinite);
  if (domain.no_mask) each("nomask", !call.masked);
  if (domain.no_offset) each("nooffset", !call.offset);
  if (domain.no_causal) each("nocausal", !call.causal);
  if (domain.no_smoothing) each("nosmoothing", call.label_smoothing == 0);
  if (domain.no_z_loss) each("nozloss", call.z_loss == 0);
  if (domain.no_softcap) each("nosoftcap", !call.softcap);
  if (domain.no_class_weights) each("noweights", !call.class_weights);
  if (domain.one_ignore_index) each("ignore=-100", call.ignore_index == usual_ignore_index);
  if (domain.base_e) each("base=e", !call.lse_base2);
  if (domain.base_2) each("base=2", call.lse_base2);
  if (domain.plain_weights) each("renormalize=0", !call.renormalize);
  if (domain.renormalized) each("renormalize=1", call.renormalize);
  if (domain.mean_only) each("reduction=mean", call.mean);
  if (domain.sum_only) each("reduction=sum", !call.mean);
  if (domain.no_top_p) each("top_p=0", call.top_p == 0);
  if (domain.no_min_p) each("min_p=0", call.min_p == 0);
  for (const auto& [name, member] : attribute_words) {
    const bool implied =
        (member == &Domain::sinks && domain.sink_gradients) || (member == &Domain::bias && domain.bias_gradient);
    if (domain.*member && !implied) each(name.data(), true);
  }
  if (domain.sink_gradients) each("dsinks", call.sink_gradients == call.sinks);
  if (domain.bias_gradient) each("dbias", call.bias_gradient == call.bias);
  if (domain.causal == CausalAlignment::top_left) each("causal=top-left", call.top_left || !counts_from_an_end(call));
  if (domain.causal == CausalAlignment::either) each("causal=either", true);
  if (domain.packed) each("packed", call.packed);
  if (domain.pages) each("pages", call.pages);
}

}  // namespace

LengthRange Domain::length(std::string_view name) const {
  const auto found = lengths.find(name);
  return found == lengths.end() ? LengthRange{} : found->second;
}

bool Domain::has_attributes() const {
  return window || softcap || sinks || alibi || bias || lse_gradients || causal != CausalAlignment::bottom_right;
}

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
  }
  for (auto& [name, range] : domain.lengths) {
    const LengthRange given = range;
    if (!range.listed.empty()) range = narrowed(std::move(range));
    if (range.contains(range.nearest(range.least))) continue;
    refuse_word(words_of(name, given), "a length " + name + " that some call can have");
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
  if (call.causal) text += ", causal";
  if (call.top_left) text += ", aligned top-left";
  if (call.window) text += ", with a window";
  if (call.softcap) text += ", with a softcap";
  if (call.sinks) text += ", with sinks";
  if (call.alibi) text += ", with slopes";
  if (call.bias) text += ", with a bias";
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
  if (call.ignore_index != usual_ignore_index) text += ", ignore_index " + std::to_string(call.ignore_index);
  return text;
}

std::string to_string(const Domain& domain) {
  std::string words;
  each_part(domain, CallTraits{}, [&](const auto& part, bool) { words += (words.empty() ? "" : " ") + part(); });
  return words;
}

}  // namespace softcheck::proptests
