// The text of an attention case, for replays.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/attention/linear_case.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t longest = std::uint64_t{1} << 20;       // of one dimension
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 22;  // of a tensor

// Possible periods of repetition in drawn cases: heads, rows, and the numbers of a row.
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

// Parses the numbers from this word up to the next tensor's name.
std::vector<double> read_numbers(std::span<const std::string_view> words, std::size_t& at, std::string_view name,
                                 numerics::Format format) {
  if (at == words.size() || words[at] != name)
    refuse(std::string(name) + " and its numbers", at == words.size() ? "" : words[at]);
  Repeats<double> values(most_numbers);
  const auto is_name = [](std::string_view word) {
    static constexpr std::array names{"k",    "v",    "sinks",  "slopes", "bias",    "kept",
                                      "dout", "dlse", "weight", "labels", "upstream"};
    return std::ranges::find(names, word) != names.end();
  };
  for (++at; at < words.size() && !is_name(words[at]); ++at) {
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

// "linear f32 hidden=2x4 weight=3x4 labels=2 upstream=2 layout=0"
std::string linear_head_text(const AttentionCase& a) {
  const auto shape = [&](std::size_t rows) { return std::to_string(rows) + "x" + std::to_string(a.shape.dim); };
  const std::string rows = std::to_string(a.shape.queries);
  return "linear " + std::string(numerics::properties(a.format).name) + " hidden=" + shape(a.shape.queries) +
         " weight=" + shape(a.shape.keys) + " labels=" + rows + (a.gradients.empty() ? "" : " upstream=" + rows) +
         " layout=" + std::to_string(a.layout);
}

std::vector<double> labels_of(const AttentionCase& a) {
  std::vector<double> labels;
  for (std::size_t i = 0; i < a.shape.queries; ++i) labels.push_back(static_cast<double>(label_of_row(a, i)));
  return labels;
}

std::string linear_text(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  std::string labels;
  for (const double label : labels_of(a)) labels += " " + std::to_string(static_cast<std::int64_t>(label));
  return linear_head_text(a) + (a.nan != 0 ? " nan=" + std::to_string(a.nan) : "") + head_text(a.attributes) +
         " hidden" + numbers_text(a.queries, s.dim, s.queries * s.dim) + " weight" +
         numbers_text(a.keys, s.dim, s.keys * s.dim) + " labels" + labels +
         (a.gradients.empty() ? "" : " upstream" + numbers_text(a.gradients, 1, s.queries));
}

AttentionCase read_linear(std::span<const std::string_view> words, std::string_view text) {
  if (words.size() < 9) {
    refuse("\"linear FORMAT hidden=ROWSxDIM weight=CLASSESxDIM labels=ROWS layout= hidden ... weight ... labels ...\"",
           text);
  }
  AttentionCase result;
  result.family = "text";
  result.format = numerics::parse_format(words[1]);
  AttentionShape& s = result.shape;
  const auto matrix = [&](std::size_t word, const char* key) {
    const std::string_view shape = value_of(words[word], key), rows = shape.substr(0, shape.find('x'));
    const std::string_view dim = shape.substr(std::min(rows.size() + 1, shape.size()));
    s.dim = static_cast<std::size_t>(parse_count(dim, 1, longest));
    return static_cast<std::size_t>(parse_count(rows, 0, longest));
  };
  s.queries = matrix(2, "hidden");
  s.keys = matrix(3, "weight");
  parse_count(value_of(words[4], "labels"), s.queries, s.queries);
  std::size_t at = 5;
  const bool upstream = words[at].starts_with("upstream=");
  if (upstream) parse_count(value_of(words[at++], "upstream"), s.queries, s.queries);
  result.layout = parse_count(value_of(words[at++], "layout"));
  if (words[at].starts_with("nan=")) result.nan = parse_count(value_of(words[at++], "nan"));
  AttentionAttributes& to = result.attributes;
  to.classes = true;
  to.no_ignored = at < words.size() && words[at] == "noignored";
  if (to.no_ignored) ++at;
  result.queries = read_numbers(words, at, "hidden", result.format);
  result.keys = read_numbers(words, at, "weight", result.format);
  result.values.resize(s.keys);
  const std::vector<double> labels = read_numbers(words, at, "labels", numerics::Format::f64);
  if (upstream) result.gradients = read_numbers(words, at, "upstream", result.format);
  if (at != words.size() || !sizes_agree(result)) refuse("as many numbers as the shapes say", text.substr(0, 120));
  if (labels != labels_of(result)) refuse("the labels that follow from the numbers", text.substr(0, 120));
  return result;
}

}  // namespace

std::string head_text(const AttentionCase& a) {
  if (a.attributes.classes) return linear_head_text(a);
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
  if (a.attributes.classes) return linear_text(a);
  const AttentionShape& s = a.shape;
  const auto named = [](const char* name, const std::vector<double>& values, std::size_t row, std::size_t head) {
    return values.empty() ? "" : name + numbers_text(values, row, head);
  };
  return head_text(a) + " mask=" + mask_text(a) + (a.nan != 0 ? " nan=" + std::to_string(a.nan) : "") +
         head_text(a.attributes) + head_text(a.sequences) + " q" + numbers_text(a.queries, s.dim, s.queries * s.dim) +
         " k" + numbers_text(a.keys, s.dim, s.keys * s.dim) + " v" +
         numbers_text(a.values, s.value_dim, s.keys * s.value_dim) + named(" sinks", a.attributes.sinks, 1, 1) +
         named(" slopes", a.attributes.slopes, 1, 1) + named(" bias", a.attributes.bias, s.keys, s.keys * s.queries) +
         named(" kept", a.attributes.kept, s.keys, s.keys * s.queries) +
         named(" dout", a.gradients, s.value_dim, s.queries * s.value_dim) +
         named(" dlse", a.attributes.lse_gradients, 1, s.queries);
}

namespace {

// "3", or "all" for nothing.
std::optional<std::size_t> read_side(std::string_view text) {
  if (text == "all") return std::nullopt;
  return static_cast<std::size_t>(parse_count(text, 0, longest));
}

// "0x1p-1,0x1p-2"
std::vector<double> read_list(std::string_view text, numerics::Format format) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(parse_number(text.substr(at, end - at)));
    if (!std::isfinite(numbers.back()) || numerics::round_to(format, numbers.back()) != numbers.back()) {
      refuse("numbers of " + std::string(numerics::properties(format).name), text);
    }
    at = end + 1;
  }
  return numbers;
}

// Which numbers follow the values (sinks, slopes, bias, kept), and dout (dlse).
struct NumbersBehind {
  bool sinks = false, slopes = false, bias = false, kept = false, lse_gradients = false;
};

NumbersBehind read_attributes(std::span<const std::string_view> words, std::size_t& at, AttentionCase& attention) {
  AttentionAttributes& to = attention.attributes;
  NumbersBehind behind;
  for (; at < words.size() && words[at] != "q"; ++at) {
    const std::string_view word = words[at];
    if (word.starts_with("window=") && word.find(':') != std::string_view::npos) {
      const std::string_view sides = value_of(word, "window");
      to.window_left = read_side(sides.substr(0, sides.find(':')));
      to.window_right = read_side(sides.substr(sides.find(':') + 1));
    } else if (word == "alignment=top-left") {
      to.top_left = true;
    } else if (word == "heads=interleaved") {
      to.interleaved = true;
    } else if (word == "expanded") {
      to.expanded = true;
    } else if (word == "values=view") {
      to.values_view = true;
    } else if (word.starts_with("softcap=")) {
      to.softcap = parse_number(value_of(word, "softcap"));
      if (!(to.softcap >= 0 && std::isfinite(to.softcap))) refuse("a finite softcap >= 0", word);
    } else if (word.starts_with("dropout=")) {
      behind.kept = true;
      to.dropout_scale = parse_number(value_of(word, "dropout"));
      if (!(to.dropout_scale > 0 && std::isfinite(to.dropout_scale))) refuse("a finite dropout > 0", word);
    } else if (word.starts_with("cache=")) {
      to.cache = numerics::parse_format(value_of(word, "cache"));
    } else if (word.starts_with("sigmoid_bias=")) {
      to.sigmoid_bias = parse_number(value_of(word, "sigmoid_bias"));
      if (!std::isfinite(*to.sigmoid_bias)) refuse("a finite sigmoid_bias", word);
    } else if (word == "lambda=shared") {
      to.one_lambda = true;
    } else if (word.starts_with("lambda=")) {
      to.lambdas = read_list(value_of(word, "lambda"), scalars_of(attention.format));
    } else if (word == "sinks") {
      behind.sinks = true;
    } else if (word == "dlse") {
      behind.lse_gradients = true;
    } else if (word == "slopes") {
      behind.slopes = true;
    } else if (word == "bias=heads" || word == "bias=shared") {
      behind.bias = true;
      to.bias_for_each_head = word == "bias=heads";
    } else if (!read_sequences_word(word, attention.sequences)) {
      refuse(
          "window=L:R, alignment=top-left, heads=interleaved, expanded, values=view, softcap=C, sinks, slopes, "
          "bias=heads|shared, dropout=S, cache=FORMAT, dlse, sigmoid_bias=B, "
          "lambda=shared|L,L,..., packed, pages=N, order=N, "
          "unowned=finite or lengths=Q:K,... before q",
          word);
    }
  }
  return behind;
}

}  // namespace

void from_text(std::string_view text, AttentionCase& attention) {
  const std::vector<std::string_view> words = words_of(text);
  if (!words.empty() && words[0] == "linear") {
    attention = read_linear(words, text);
    return;
  }
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
  result.outputs = static_cast<int>(count(11, "outputs", 1, 4));
  result.layout = count(12, "layout", 0, UINT64_MAX);
  read_mask(value_of(words[13], "mask"), result);
  std::size_t at = 14;
  if (words[at].starts_with("byte=")) result.mask_byte = count(at++, "byte", 1, UINT64_MAX);
  if (words[at].starts_with("nan=")) result.nan = count(at++, "nan", 0, UINT64_MAX);
  const NumbersBehind behind = read_attributes(words, at, result);
  result.queries = read_numbers(words, at, "q", result.format);
  result.keys = read_numbers(words, at, "k", result.cache_format());
  result.values = read_numbers(words, at, "v", result.cache_format());
  const numerics::Format wide = scalars_of(result.format);
  if (behind.sinks) result.attributes.sinks = read_numbers(words, at, "sinks", wide);
  if (behind.slopes) result.attributes.slopes = read_numbers(words, at, "slopes", wide);
  if (behind.bias) result.attributes.bias = read_numbers(words, at, "bias", result.format);
  if (behind.kept) result.attributes.kept = read_numbers(words, at, "kept", result.format);
  if (at < words.size()) result.gradients = read_numbers(words, at, "dout", result.format);
  if (behind.lse_gradients) result.attributes.lse_gradients = read_numbers(words, at, "dlse", wide);
  const bool too_many = result.outputs > 3 && result.gradients.empty() && !result.queries.empty();
  if (at != words.size() || too_many || !std::isfinite(result.scale) || !sizes_agree(result)) {
    refuse("a finite scale, at most 3 outputs of a forward pass, and as many numbers and mask digits as the sizes say",
           text.substr(0, 120));
  }
  attention = std::move(result);
}

}  // namespace softcheck::proptests
