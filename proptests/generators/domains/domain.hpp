#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// The allowed values of a length: multiples of `multiple` from least to most, or only the listed ones.
struct LengthRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t multiple = 1;
  /// Ascending, at least two values, from least to most, with multiple 1; empty: no list.
  std::vector<std::uint64_t> listed = {};

  bool contains(std::uint64_t length) const;
  /// The nearest length in the range, the larger of two.
  std::uint64_t nearest(std::uint64_t length) const;
  /// The smallest length in the range from this one on, and the largest one up to it.
  std::optional<std::uint64_t> at_least(std::uint64_t length) const;
  std::optional<std::uint64_t> at_most(std::uint64_t length) const;
  /// The listed lengths between two bounds.
  std::vector<std::uint64_t> listed_within(std::uint64_t lowest, std::uint64_t highest) const;
  bool everything() const { return *this == LengthRange{}; }

  friend bool operator==(const LengthRange&, const LengthRange&) = default;
};

/// The lengths that both ranges contain; an empty range (least > most) if there are none.
LengthRange intersection(const LengthRange& a, const LengthRange& b);

/// PyTorch's default.
inline constexpr std::int64_t usual_ignore_index = -100;

/// How causality, windows and slopes align queries and keys of unequal lengths: last query to last key, first to first,
/// or as the call says.
enum class CausalAlignment { bottom_right, top_left, either };

/// The mask and the bias of a kernel that knows them: functions of a call's batch, heads, queries and keys. Both are
/// (batch, heads, queries, keys). An empty function: none.
struct FixedTerms {
  std::function<std::vector<std::uint8_t>(const std::array<std::size_t, 4>& lengths)> mask;
  std::function<std::vector<double>(const std::array<std::size_t, 4>& lengths)> bias;
};

/// The properties of a call that a domain can restrict.
struct CallTraits {
  /// "n" and "rows", for top-k "k", of routers "groups", "kept" and "group_items"; for attention "batch", "heads",
  /// "group", "queries", "keys", "dim" and "values", with pages "page".
  std::map<std::string, std::uint64_t, std::less<>> lengths;
  double theta = 1;
  double scale = 1;
  std::uint64_t alignment = 1;  // bytes: the largest power of two that divides every tensor's first address
  bool compact = true;          // every tensor has compact strides, or NULL
  // every tensor's elements are contiguous; strides of dimensions with one element may be anything
  bool side_by_side = true;
  bool contiguous = true;      // the elements of each row are contiguous
  bool finite = true;          // no input holds a NaN or an infinity, not even behind a mask
  bool infinite = false;       // an unmasked number is infinite
  bool ignored = false;        // a label of the loss may be the ignored one
  bool unwritten = false;      // an empty part of a merge may have a NaN as output
  bool blind = false;          // a row has no visible item, or a query sees no key
  double logits = 0;           // largest magnitude of a visible logit, divided by theta; of a score of attention
  double spread = 0;           // largest visible logit minus the smallest, divided by theta; the same of scores
  bool offset = false;         // a tensor has a byte offset
  bool masked = false;         // the call has a mask
  bool class_weights = false;  // the loss has class weights
  bool causal = false;
  double label_smoothing = 0;
  double z_loss = 0;
  std::int64_t ignore_index = usual_ignore_index;
  bool lse_base2 = false;
  bool renormalize = false;
  bool mean = false;     // for a loss over whole calls: the sum is divided
  bool reverse = false;  // of a divergence
  bool sigmoid = false;  // of a router
  double top_p = 0, min_p = 0, routed_scale = 0;
  // Attention's attributes (softcap is also a loss's): are they on?
  bool window = false, softcap = false, sinks = false, alibi = false, bias = false, dropout = false;
  std::optional<numerics::Format> cache;  // the format of keys and values, if not the call's
  bool sink_gradients = false;            // for attention's gradient: the call asks for that by the sinks
  bool bias_gradient = false;             // the call asks for that by the bias
  bool lse_gradients = false;             // the inputs include the gradient by the log-sum-exps
  bool top_left = false;
  bool other_sigmoid_bias = false;     // sigmoid attention's bias is not -ln(keys)
  bool other_lambdas = false;          // differential attention's lambdas are not all equal
  bool interleaved = false;            // query head h reads key head h % kv_heads
  bool values_view = false;            // values are in the memory of their keys
  bool packed = false, pages = false;  // layout of attention's sequences
};

/// The calls that a kernel supports. The judge makes only these, and a refusal is a finding.
struct Domain {
  std::map<std::string, LengthRange, std::less<>> lengths;  // the limited lengths
  bool unit_theta = false;                                  // theta = 1
  bool usual_scale = false;                                 // scale = 1 / sqrt(dim), rounded to double
  bool classes = false;                                     // has no word: of a linear layer's loss, with scale 1
  bool usual_sigmoid_bias = false;                          // sigmoid attention's bias = -ln(keys), rounded to double
  bool compact = false;
  bool contiguous = false;
  bool finite = false;
  bool visible_nan = false;  // no infinity, and NaN only where no mask or length hides it
  bool no_infinity = false;  // has no word: the logits' dtype has no infinity
  bool no_mask = false;
  bool no_offset = false;
  bool no_causal = false;
  bool all_causal = false;        // causal is 1
  bool equal_lengths = false;     // of attention: queries = keys, of each sequence
  bool fewer_queries = false;     // queries <= keys
  bool equal_dims = false;        // values = dim
  bool temperature = false;       // losses: theta may be other than 1, and then softcap is 0
  bool top_k = false;             // sampling: calls have k
  bool per_row = false;           // sampling: each row has its own k, top_p, min_p and temperature
  bool no_smoothing = false;      // label_smoothing = 0
  bool no_z_loss = false;         // z_loss = 0
  bool one_ignore_index = false;  // ignore_index = usual_ignore_index
  bool no_ignored = false;        // no label is the ignored one
  bool one_lambda = false;        // of differential attention: all heads have one lambda
  bool zero_parts = false;        // the outputs of a merge's empty parts are 0
  bool all_see = false;           // each row has a visible item, each query sees a key
  bool no_softcap = false;        // softcap = 0 for a loss
  bool no_class_weights = false;
  bool base_e = false;         // lse_base2 = 0
  bool base_2 = false;         // lse_base2 = 1
  bool plain_weights = false;  // renormalize = 0
  bool renormalized = false;   // renormalize = 1
  bool mean_only = false;      // mean = 1
  bool sum_only = false;       // mean = 0
  bool forward_only = false;   // reverse = 0
  bool reverse_only = false;   // reverse = 1
  bool no_top_p = false;       // top_p = 0
  bool no_min_p = false;       // min_p = 0
  // Top-k: calls of a router (and a bias, below). Without their words no call is one. A length "groups" is a word, too.
  bool sigmoid_scores = false, either_scores = false, groups = false, routed_scale = false;
  // Attention: attributes beyond version 1 of the ABI that calls may have; without their words no call has them.
  bool window = false, softcap = false, sinks = false, alibi = false, bias = false, dropout = false;
  std::optional<numerics::Format> cache;  // the format of keys and values, if not the call's
  bool sink_gradients = false;            // attention's gradient: calls have sinks and ask for the gradient by them
  bool bias_gradient = false;             // calls with a bias ask for the gradient by it
  bool lse_gradients = false;             // calls may have gradients by the log-sum-exps
  CausalAlignment causal = CausalAlignment::bottom_right;
  bool interleaved = false;            // query head h reads key head h % kv_heads
  bool expanded = false;               // inputs may have strides of 0
  bool values_view = false;            // values are the first numbers of their keys, in the same memory
  bool packed = false, pages = false;  // every call has this layout of sequences
  std::uint64_t alignment = 1;
  double most_logit = std::numeric_limits<double>::infinity();   // limits of CallTraits::logits and spread
  double most_spread = std::numeric_limits<double>::infinity();  //
  std::shared_ptr<const FixedTerms> fixed;                       // has no word: attention's mask and bias in every call

  /// Can a logit of -inf hide an item?
  bool hides_by_infinity() const { return !finite && !visible_nan && !no_infinity; }
  /// Do masks, lengths and causality hide only finite numbers, in every call?
  bool hides_finite_numbers() const { return finite || visible_nan; }
  bool bounds_logits() const;
  /// May a visible logit be +inf?
  bool shows_infinity() const { return hides_by_infinity() && !bounds_logits(); }
  bool has_fixed_mask() const { return fixed != nullptr && fixed->mask; }
  bool has_fixed_bias() const { return fixed != nullptr && fixed->bias; }
  /// Does every call have sequences of different lengths?
  bool has_sequences() const { return packed || pages; }
  bool has_groups() const { return groups || lengths.contains("groups"); }
  /// Of rows: are its calls a router's?
  bool routes() const { return sigmoid_scores || either_scores || routed_scale || bias || has_groups(); }
  /// Can calls have attributes?
  bool has_attributes() const;
  /// Does the domain contain every call?
  bool everything() const { return *this == Domain{}; }
  /// The range of this length; unlimited if the domain does not limit it.
  LengthRange length(std::string_view name) const;
  bool admits(const CallTraits& call) const;
  /// Does it admit the call's lengths, whatever else the call has?
  bool has_lengths(const CallTraits& call) const;
  /// The words that the call breaks, separated by blanks; empty if the domain admits it.
  std::string broken_by(const CallTraits& call) const;

  friend bool operator==(const Domain&, const Domain&) = default;
};

/// "n=33 rows=2 theta=0.7 masked"
std::string to_string(const CallTraits& call);

/// A word of domains that is not a length.
struct DomainWord {
  enum class Calls { rows, attention, both, none };

  std::string_view word;      // "compact"; a number follows "align=" and "logits<="
  Calls calls = Calls::both;  // the calls it applies to; none: it has no written form
  std::string_view means;     // what it says about every call, or allows
};

/// All words, in the order of to_string.
std::vector<DomainWord> domain_words();

/// Parses words separated by blanks or commas: those of domain_words(), and lengths. Lengths of rows: n, rows, for
/// top-k k, groups, kept (groups) and group_items; of attention: batch, heads (of queries), group (query heads per key
/// head), queries, keys, dim, values, page (slots per page).
///
///   NAME=V  NAME<=V  NAME>=V   the length has this value, or lies in this range
///   NAME=Vk                    the length is a multiple of V: n=16k
///   NAME=V|V|...               the length is one of these: n=1|17|1000
///
/// throws   std::invalid_argument with the word and the list of words
Domain parse_domain(std::string_view words, bool attention);

/// The number of groups, of kept groups, or of items that a group's score adds, which a router's calls have; 0: any.
std::uint64_t routed_length(const Domain& domain, std::string_view name);

/// The words of all restrictions, such that parse_domain(to_string(d), attention) == d; empty if there are none.
std::string to_string(const Domain& domain);

}  // namespace softcheck::proptests
