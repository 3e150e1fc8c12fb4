#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// The values that a length may take: multiples of multiple from least to most; where some are listed, these alone.
struct LengthRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t multiple = 1;
  /// Ascending, at least two, the first one least and the last one most, at a multiple of 1; empty: no list.
  std::vector<std::uint64_t> listed = {};

  bool contains(std::uint64_t length) const;
  /// The closest length that it contains, the larger of two.
  std::uint64_t nearest(std::uint64_t length) const;
  /// The smallest length that it contains from this one on, and the largest one up to it.
  std::optional<std::uint64_t> at_least(std::uint64_t length) const;
  std::optional<std::uint64_t> at_most(std::uint64_t length) const;
  /// Of the listed lengths those between two bounds.
  std::vector<std::uint64_t> listed_within(std::uint64_t lowest, std::uint64_t highest) const;
  bool everything() const { return *this == LengthRange{}; }

  friend bool operator==(const LengthRange&, const LengthRange&) = default;
};

/// The lengths that both ranges contain; a range without any (least > most) where there are none.
LengthRange intersection(const LengthRange& a, const LengthRange& b);

/// PyTorch's.
inline constexpr std::int64_t usual_ignore_index = -100;

/// Where causality, windows and slopes count a query's keys from, lengths being unequal: from the last query and the
/// last key, from the first ones, or as the call says.
enum class CausalAlignment { bottom_right, top_left, either };

/// What of a call a domain speaks of.
struct CallTraits {
  /// "n" and "rows", of top-k "k"; of attention "batch", "heads", "group", "queries", "keys", "dim" and "values",
  /// and of pages "page".
  std::map<std::string, std::uint64_t, std::less<>> lengths;
  double theta = 1;
  double scale = 1;
  std::uint64_t alignment = 1;  // bytes: the largest power of two that divides every tensor's first address
  bool compact = true;          // every tensor's strides are those of elements side by side, or NULL
  bool side_by_side = true;     // its elements are; the stride of a dimension with one element may be anything
  bool contiguous = true;       // elements of one row stand side by side, whatever stands between rows
  bool finite = true;           // no input holds a NaN or an infinity, behind a mask either
  bool infinite = false;        // a number that no mask hides is infinite
  bool ignored = false;         // a loss's label is the one to ignore
  bool offset = false;          // some tensor has a byte offset
  bool masked = false;          // a mask is passed
  bool class_weights = false;   // a loss has them
  bool causal = false;
  double label_smoothing = 0;
  double z_loss = 0;
  std::int64_t ignore_index = usual_ignore_index;
  bool lse_base2 = false;
  bool renormalize = false;
  bool mean = false;  // a loss of whole calls is divided
  double top_p = 0, min_p = 0;
  // Attention's attributes, softcap a loss's, too: are they there?
  bool window = false, softcap = false, sinks = false, alibi = false, bias = false;
  bool sink_gradients = false;  // of attention's gradient: that by the sinks is asked for
  bool bias_gradient = false;   // and that by the bias
  bool lse_gradients = false;   // and there is one by the log-sum-exps among its inputs
  bool top_left = false;
  bool packed = false, pages = false;  // attention's sequences
};

/// The calls that a kernel is made for. Inside it a kernel is judged fully, and a refusal is a finding.
struct Domain {
  std::map<std::string, LengthRange, std::less<>> lengths;  // those that are limited
  bool unit_theta = false;                                  // theta = 1
  bool usual_scale = false;                                 // scale = 1 / sqrt(dim), rounded to double
  bool compact = false;
  bool contiguous = false;
  bool finite = false;
  bool visible_nan = false;  // no infinity, and NaN only where no mask or length hides it
  bool no_infinity = false;  // no word: logits are of a dtype that has none
  bool no_mask = false;
  bool no_offset = false;
  bool no_causal = false;
  bool all_causal = false;        // causal is 1
  bool equal_lengths = false;     // of attention: queries = keys, of each sequence
  bool fewer_queries = false;     // queries <= keys
  bool equal_dims = false;        // values = dim
  bool no_smoothing = false;      // label_smoothing = 0
  bool no_z_loss = false;         // z_loss = 0
  bool one_ignore_index = false;  // ignore_index = usual_ignore_index
  bool no_ignored = false;        // no label is the one to ignore
  bool no_softcap = false;        // a loss's softcap = 0
  bool no_class_weights = false;
  bool base_e = false;         // lse_base2 = 0
  bool base_2 = false;         // lse_base2 = 1
  bool plain_weights = false;  // renormalize = 0
  bool renormalized = false;   // renormalize = 1
  bool mean_only = false;      // mean = 1
  bool sum_only = false;       // mean = 0
  bool no_top_p = false;       // top_p = 0
  bool no_min_p = false;       // min_p = 0
  // Of attention: attributes that calls may have beside what version 1 of the ABI says. Without their words none has.
  bool window = false, softcap = false, sinks = false, alibi = false, bias = false;
  bool sink_gradients = false;  // of attention's gradient: calls with sinks, which there are, ask for theirs
  bool bias_gradient = false;   // and those with a bias for its
  bool lse_gradients = false;   // calls may have gradients by the log-sum-exps
  CausalAlignment causal = CausalAlignment::bottom_right;
  bool packed = false, pages = false;  // every call holds its sequences so
  std::uint64_t alignment = 1;

  /// May an item be hidden by a logit of -inf?
  bool hides_by_infinity() const { return !finite && !visible_nan && !no_infinity; }
  /// Is what a mask, a length or causality hides finite in every call?
  bool hides_finite_numbers() const { return finite || visible_nan; }
  /// Does every call hold sequences of different lengths?
  bool has_sequences() const { return packed || pages; }
  /// May calls have an attribute?
  bool has_attributes() const;
  /// Every call is in it.
  bool everything() const { return *this == Domain{}; }
  /// Every length of it where the domain says nothing.
  LengthRange length(std::string_view name) const;
  bool admits(const CallTraits& call) const;
  /// Has it the call's lengths, whatever else the call is?
  bool has_lengths(const CallTraits& call) const;
  /// The words that the call breaks, blanks between them; empty where it is admitted.
  std::string broken_by(const CallTraits& call) const;

  friend bool operator==(const Domain&, const Domain&) = default;
};

/// "n=33 rows=2 theta=0.7 masked"
std::string to_string(const CallTraits& call);

/// A word of domains beside lengths.
struct DomainWord {
  enum class Calls { rows, attention, both, none };

  std::string_view word;      // "compact"; "align=", which a number follows
  Calls calls = Calls::both;  // that it can be said of; none: no word is written so
  std::string_view means;     // what every call is, or may be
};

/// All of them, in the order of to_string.
std::vector<DomainWord> domain_words();

/// Reads words separated by blanks or commas: those of domain_words(), and lengths. Lengths of rows: n, rows, of top-k
/// k; of attention: batch, heads (of the queries), group (query heads for each key head), queries, keys, dim, values,
/// page (a page's slots).
///
///   NAME=V  NAME<=V  NAME>=V   the length has this value, or lies there
///   NAME=Vk                    the length is a multiple of V: n=16k
///   NAME=V|V|...               the length is one of these: n=1|17|1000
///
/// throws   std::invalid_argument naming the word and listing what exists
Domain parse_domain(std::string_view words, bool attention);

/// All that is limited, so that parse_domain(to_string(d), attention) == d; empty for everything.
std::string to_string(const Domain& domain);

}  // namespace softcheck::proptests
