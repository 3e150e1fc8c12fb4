#include "proptests/generators/attention/attention_sequences.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t longest_sequence = std::uint64_t{1} << 20;
constexpr std::uint64_t largest_page = std::uint64_t{1} << 16;

std::vector<std::size_t> list_of(std::string_view text) {
  std::vector<std::size_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(":,", begin), text.size());
    numbers.push_back(static_cast<std::size_t>(parse_count(text.substr(begin, end - begin), 0, longest_sequence)));
    begin = end + 1;
  }
  return numbers;
}

void read_lengths(std::string_view text, AttentionSequences& sequences) {
  const std::vector<std::size_t> numbers = list_of(text);
  const auto colons = static_cast<std::size_t>(std::ranges::count(text, ':'));
  if (numbers.size() != 2 * colons) {
    throw std::invalid_argument("attention case: need lengths=QUERIES:KEYS,QUERIES:KEYS..., got \"" +
                                std::string(text.substr(0, 120)) + "\"");
  }
  sequences.queries.clear();
  sequences.keys.clear();
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    sequences.queries.push_back(numbers[i]);
    sequences.keys.push_back(numbers[i + 1]);
  }
}

// Lengths at which kernels go wrong, or any other.
std::size_t sequence_length(Draw& draw, std::size_t most, std::size_t page) {
  const std::size_t edge = page * (1 + draw.below(std::max<std::size_t>(1, most / std::max<std::size_t>(1, page))));
  switch (draw.below(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return most;
    case 3:
      return most - 1;
    case 4:
    case 5:
      return page == 0 ? draw.below(most + 1) : std::min(most, edge + draw.below(3) - 1);
    default:
      return draw.below(most + 1);
  }
}

// The length if the domain has it, else the full length.
std::size_t length_in(const LengthRange& range, std::size_t length, std::size_t whole) {
  return range.contains(length) ? length : whole;
}

std::size_t draw_page(Draw& draw, const LengthRange& range) {
  static constexpr std::array<std::size_t, 12> sizes{16, 1, 2, 3, 4, 8, 16, 16, 32, 64, 128, 256};
  const std::vector<std::uint64_t> listed = range.listed_within(1, largest_page);
  if (!listed.empty()) return static_cast<std::size_t>(listed[draw.below(listed.size())]);
  const std::size_t size = sizes[draw.below(sizes.size())];
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, range.nearest(size)));
}

// Clears queries, keys or values beyond a sequence's length.
bool clear_behind(std::vector<double>& numbers, const AttentionShape& s, std::size_t heads, std::size_t most,
                  std::size_t size, const std::vector<std::size_t>& lengths) {
  bool any = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t place = i / size % most, b = i / size / most / heads;
    if (b >= s.batch || place < lengths[b] || (numbers[i] == 0 && same_bits(numbers[i], 0.0))) continue;
    numbers[i] = 0;
    any = true;
  }
  return any;
}

}  // namespace

std::string head_text(const AttentionSequences& a) {
  if (!a.any()) return "";
  std::string text = a.packed ? " packed" : "";
  if (a.page_size > 0) text += " pages=" + std::to_string(a.page_size);
  if (a.order != 0) text += " order=" + std::to_string(a.order);
  if (a.finite) text += " unowned=finite";
  for (std::size_t b = 0; b < a.keys.size(); ++b) {
    text += (b == 0 ? " lengths=" : ",") + std::to_string(a.queries[b]) + ":" + std::to_string(a.keys[b]);
  }
  return text;
}

bool read_sequences_word(std::string_view word, AttentionSequences& sequences) {
  if (word == "packed") {
    sequences.packed = true;
  } else if (word == "unowned=finite") {
    sequences.finite = true;
  } else if (word.starts_with("pages=")) {
    sequences.page_size = static_cast<std::size_t>(parse_count(value_of(word, "pages"), 1, largest_page));
  } else if (word.starts_with("order=")) {
    sequences.order = parse_count(value_of(word, "order"), 0, UINT64_MAX);
  } else if (word.starts_with("lengths=")) {
    read_lengths(value_of(word, "lengths"), sequences);
  } else {
    return false;
  }
  return true;
}

bool sequences_agree(const AttentionCase& a) {
  const AttentionSequences& of = a.sequences;
  const auto within = [](const std::vector<std::size_t>& lengths, std::size_t most) {
    return std::ranges::all_of(lengths, [most](std::size_t length) { return length <= most; });
  };
  if (!of.any()) return of.queries.empty() && of.keys.empty();
  if (of.queries.size() != a.shape.batch || of.keys.size() != a.shape.batch) return false;
  if (!within(of.queries, a.shape.queries) || !within(of.keys, a.shape.keys)) return false;
  const bool whole = std::ranges::all_of(of.queries, [&](std::size_t count) { return count == a.shape.queries; });
  return (of.packed || whole) && a.mask.empty() && a.attributes.bias.empty() &&
         (a.gradients.empty() || of.page_size == 0);
}

std::size_t draw_batch_of_sequences(Draw& draw) { return draw.one_in(8) ? 1 : 2 + draw.below(4); }

void draw_sequences(Draw& draw, AttentionCase& a, const AttentionOptions& options) {
  const Domain& domain = options.domain;
  if (!domain.has_sequences()) return;
  const AttentionShape& s = a.shape;
  AttentionSequences& to = a.sequences;
  to.packed = domain.packed;
  to.finite = domain.hides_finite_numbers();
  if (domain.pages) {
    to.page_size = draw_page(draw, domain.length("page"));
    to.order = draw.one_in(8) ? 0 : 1 + draw.below(1000);
  }
  const std::size_t whole = draw.below(std::max<std::size_t>(1, s.batch));
  const bool alike = draw.one_in(12);
  for (std::size_t b = 0; b < s.batch; ++b) {
    const bool is_whole = b == whole || alike;
    const std::size_t keys = is_whole || s.keys == 0 ? s.keys : sequence_length(draw, s.keys, to.page_size);
    const std::size_t queries =
        is_whole || !to.packed || s.queries == 0 ? s.queries : sequence_length(draw, s.queries, 0);
    to.keys.push_back(length_in(domain.length("keys"), keys, s.keys));
    to.queries.push_back(length_in(domain.length("queries"), queries, s.queries));
    if (domain.equal_lengths) to.keys[b] = to.queries[b];
    if (domain.fewer_queries && to.keys[b] < to.queries[b]) to.keys[b] = s.keys;
    // Otherwise a query would see no key.
    const std::size_t least = to.queries[b] == 0 ? 0 : a.causal ? to.queries[b] : 1;
    if (!options.blind_queries && to.keys[b] < least) to.keys[b] = s.keys;
  }
}

void hold_alike_sequences(AttentionCase& a, const Domain& domain) {
  if (!domain.has_sequences()) return;
  constexpr std::uint64_t usual_page = 16;
  a.sequences.packed = domain.packed;
  a.sequences.finite = domain.hides_finite_numbers();
  if (domain.pages) {
    a.sequences.page_size =
        static_cast<std::size_t>(std::max<std::uint64_t>(1, domain.length("page").nearest(usual_page)));
  }
  a.sequences.queries.assign(a.shape.batch, a.shape.queries);
  a.sequences.keys.assign(a.shape.batch, a.shape.keys);
}

void drop_places(std::vector<std::size_t>& lengths, std::size_t first, std::size_t count) {
  for (std::size_t& length : lengths) length -= std::min(length, first + count) - std::min(length, first);
}

void limit_lengths(AttentionCase& a) {
  for (std::size_t& length : a.sequences.queries) length = std::min(length, a.shape.queries);
  for (std::size_t& length : a.sequences.keys) length = std::min(length, a.shape.keys);
  if (!a.sequences.any()) return;
  a.sequences.queries.resize(a.shape.batch);
  a.sequences.keys.resize(a.shape.batch);
}

bool clear_unsent(AttentionCase& a) {
  if (!a.sequences.any()) return false;
  const AttentionShape& s = a.shape;
  const bool q = clear_behind(a.queries, s, s.heads(), s.queries, s.dim, a.sequences.queries);
  const bool k = clear_behind(a.keys, s, s.kv_heads, s.keys, s.dim, a.sequences.keys);
  const bool v = clear_behind(a.values, s, s.kv_heads, s.keys, s.value_dim, a.sequences.keys);
  const bool g =
      !a.gradients.empty() && clear_behind(a.gradients, s, s.heads(), s.queries, s.value_dim, a.sequences.queries);
  return q || k || v || g;
}

}  // namespace softcheck::proptests
