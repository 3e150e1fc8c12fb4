#include "proptests/generators/attention.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <stdexcept>

#include "numerics/certificate.hpp"
#include "proptests/generators/case_text.hpp"
#include "proptests/generators/repeats_text.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t longest = std::uint64_t{1} << 20;       // of one dimension
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 22;  // of a tensor

// How many rows repeat in the cases that are drawn, and the numbers of a row.
std::vector<std::size_t> periods_of(std::size_t row, std::size_t head) {
  std::vector<std::size_t> periods;
  for (const std::size_t heads : {5, 3, 2, 1}) periods.push_back(heads * head);
  for (const std::size_t rows : {61, 59, 31, 29, 17, 13, 11, 7, 5, 3, 2, 1}) periods.push_back(rows * row);
  periods.push_back(1);
  return periods;
}

std::string numbers_text(const std::vector<double>& values, std::size_t row, std::size_t head) {
  const auto same = [&](std::size_t i, std::size_t j) { return same_bits(values[i], values[j]); };
  const auto word = [&](std::size_t i) { return ' ' + numerics::hex_float(values[i]); };
  return repeats_text(values.size(), periods_of(row, head), {" [", " ]*", "", "*"}, same, word);
}

std::string mask_text(const AttentionCase& a) {
  if (a.mask.empty()) return "none";
  const auto same = [&](std::size_t i, std::size_t j) { return a.mask[i] == a.mask[j]; };
  const auto word = [&](std::size_t i) { return std::string(1, a.mask[i] != 0 ? '1' : '0'); };
  const std::size_t keys = a.shape.keys;
  std::string text =
      repeats_text(a.mask.size(), periods_of(keys, keys * a.shape.queries), {"(", ")*", ",", ""}, same, word);
  text = (a.mask_for_each_head ? "heads:" : "shared:") + text;
  if (a.mask_byte != 1) text += " byte=" + std::to_string(a.mask_byte);
  return text;
}

[[noreturn]] void refuse(const std::string& need, std::string_view got) {
  throw std::invalid_argument("attention case: need " + need + ", got \"" + std::string(got) + "\"");
}

void read_mask(std::string_view text, AttentionCase& attention) {
  if (text == "none") return;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (colon == std::string_view::npos || (kind != "heads" && kind != "shared")) {
    refuse("mask=none, mask=heads:10... or mask=shared:10...", text);
  }
  attention.mask_for_each_head = kind == "heads";
  Repeats<std::uint8_t> digits(most_numbers);
  for (std::size_t at = colon + 1; at < text.size(); ++at) {
    if (text[at] == '0' || text[at] == '1') {
      digits.add(text[at] == '1');
    } else if (text[at] == '(') {
      digits.open();
    } else if (text.substr(at).starts_with(")*") && text.find(',', at) != std::string_view::npos) {
      const std::size_t end = text.find(',', at);
      digits.close(parse_count(text.substr(at + 2, end - at - 2), 1, most_numbers));
      at = end;
    } else {
      refuse("a mask of 0 and 1, or (10)*3,", text.substr(0, 120));
    }
  }
  attention.mask = digits.take();
}

// The numbers from word on, up to the next tensor's name.
std::vector<double> read_numbers(std::span<const std::string_view> words, std::size_t& at, std::string_view name,
                                 numerics::Format format) {
  if (at == words.size() || words[at] != name)
    refuse(std::string(name) + " and its numbers", at == words.size() ? "" : words[at]);
  Repeats<double> values(most_numbers);
  for (++at; at < words.size() && words[at] != "k" && words[at] != "v"; ++at) {
    if (words[at] == "[") {
      values.open();
      continue;
    }
    const std::size_t star = words[at].find('*');
    const std::uint64_t count =
        star == std::string_view::npos ? 1 : parse_count(words[at].substr(star + 1), 1, most_numbers);
    if (words[at].starts_with("]*")) {
      values.close(count);
      continue;
    }
    const double value = parse_number(words[at].substr(0, star));
    if (!std::isfinite(value) || !same_bits(numerics::round_to(format, value), value)) {
      refuse("numbers of " + std::string(numerics::properties(format).name), words[at]);
    }
    values.add(value, count);
  }
  return values.take();
}

bool sizes_agree(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  return a.queries.size() == s.batch * s.heads() * s.queries * s.dim &&
         a.keys.size() == s.batch * s.kv_heads * s.keys * s.dim &&
         a.values.size() == s.batch * s.kv_heads * s.keys * s.value_dim &&
         (a.mask.empty() || a.mask.size() == s.batch * a.mask_heads() * s.queries * s.keys);
}

}  // namespace

std::uint8_t AttentionCase::byte_of(std::size_t entry) const {
  if (mask[entry] == 0) return 0;
  return static_cast<std::uint8_t>(mask_byte < 256 ? mask_byte : 1 + (entry + mask_byte) % 255);
}

bool AttentionCase::sees(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
  if (causal && j + shape.queries > i + shape.keys) return false;
  if (mask.empty()) return true;
  const std::size_t head = mask_for_each_head ? h : 0;
  return mask[((b * mask_heads() + head) * shape.queries + i) * shape.keys + j] != 0;
}

bool operator==(const AttentionCase& a, const AttentionCase& b) { return to_text(a) == to_text(b); }

bool admits(const AttentionOptions& options, const AttentionCase& attention) {
  const AttentionShape& s = attention.shape;
  if (attention.format != options.format || !sizes_agree(attention)) return false;
  if (s.batch == 0 || s.kv_heads == 0 || s.group == 0 || s.dim == 0 || s.value_dim == 0) return false;
  if (!std::isfinite(attention.scale)) return false;
  if (!options.domain.everything()) {
    CallTraits traits = traits_of(attention);
    traits.alignment = options.domain.alignment;
    if (!options.domain.admits(traits)) return false;
  }
  if (options.blind_queries) return true;
  if (s.queries == 0 || s.keys == 0) return false;
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads(); ++h) {
      for (std::size_t i = 0; i < s.queries; ++i) {
        bool any = false;
        for (std::size_t j = 0; j < s.keys && !any; ++j) any = attention.sees(b, h, i, j);
        if (!any) return false;
      }
    }
  }
  return true;
}

CallTraits traits_of(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  const auto all_finite = [](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
  };
  CallTraits traits;
  traits.lengths = {{"batch", s.batch}, {"heads", s.heads()}, {"group", s.group},     {"queries", s.queries},
                    {"keys", s.keys},   {"dim", s.dim},       {"values", s.value_dim}};
  traits.scale = a.scale;
  traits.compact = a.layout == 0;
  traits.finite = all_finite(a.queries) && all_finite(a.keys) && all_finite(a.values);
  traits.masked = !a.mask.empty();
  traits.causal = a.causal;
  return traits;
}

std::string head_text(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  const auto count = [](const char* key, std::size_t value) {
    return std::string(" ") + key + "=" + std::to_string(value);
  };
  return "attention " + std::string(numerics::properties(a.format).name) + count("batch", s.batch) +
         count("kv", s.kv_heads) + count("group", s.group) + count("queries", s.queries) + count("keys", s.keys) +
         count("dim", s.dim) + count("values", s.value_dim) + " scale=" + numerics::hex_float(a.scale) +
         count("causal", a.causal ? 1 : 0) + count("outputs", static_cast<std::size_t>(a.outputs)) +
         count("layout", a.layout);
}

std::string to_text(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  return head_text(a) + " mask=" + mask_text(a) + (a.nan != 0 ? " nan=" + std::to_string(a.nan) : "") + " q" +
         numbers_text(a.queries, s.dim, s.queries * s.dim) + " k" + numbers_text(a.keys, s.dim, s.keys * s.dim) + " v" +
         numbers_text(a.values, s.value_dim, s.keys * s.value_dim);
}

void from_text(std::string_view text, AttentionCase& attention) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 17 || words[0] != "attention") {
    refuse(
        "\"attention FORMAT batch= kv= group= queries= keys= dim= values= scale= causal= outputs= layout= mask= q ... "
        "k ... v ...\"",
        text);
  }
  AttentionCase result;
  result.family = "text";
  result.format = numerics::parse_format(words[1]);
  const auto count = [&](std::size_t word, const char* key, std::uint64_t lowest, std::uint64_t highest) {
    return static_cast<std::size_t>(parse_count(value_of(words[word], key), lowest, highest));
  };
  AttentionShape& s = result.shape;
  s.batch = count(2, "batch", 1, longest);
  s.kv_heads = count(3, "kv", 1, longest);
  s.group = count(4, "group", 1, longest);
  s.queries = count(5, "queries", 0, longest);
  s.keys = count(6, "keys", 0, longest);
  s.dim = count(7, "dim", 1, longest);
  s.value_dim = count(8, "values", 1, longest);
  result.scale = parse_number(value_of(words[9], "scale"));
  result.causal = count(10, "causal", 0, 1) == 1;
  result.outputs = static_cast<int>(count(11, "outputs", 1, 3));
  result.layout = count(12, "layout", 0, UINT64_MAX);
  read_mask(value_of(words[13], "mask"), result);
  std::size_t at = 14;
  if (words[at].starts_with("byte=")) result.mask_byte = count(at++, "byte", 1, UINT64_MAX);
  if (words[at].starts_with("nan=")) result.nan = count(at++, "nan", 0, UINT64_MAX);
  result.queries = read_numbers(words, at, "q", result.format);
  result.keys = read_numbers(words, at, "k", result.format);
  result.values = read_numbers(words, at, "v", result.format);
  if (at != words.size() || !std::isfinite(result.scale) || !sizes_agree(result)) {
    refuse("a finite scale and as many numbers and mask digits as the sizes say", text.substr(0, 120));
  }
  attention = std::move(result);
}

std::size_t size_of(const AttentionCase& attention) { return attention.shape.scores(); }

void showValue(const AttentionCase& attention, std::ostream& stream) { stream << to_text(attention); }

}  // namespace softcheck::proptests
