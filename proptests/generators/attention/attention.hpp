#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"
#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/attention/attention_attributes.hpp"
#include "proptests/generators/attention/attention_sequences.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// The lengths of attention's tensors. Query head h = (kv, g) of kv_heads * group uses key head kv; in the call it is
/// head kv * group + g, or g * kv_heads + kv if heads are interleaved.
struct AttentionShape {
  std::size_t batch = 1;
  std::size_t kv_heads = 1;
  std::size_t group = 1;  // query heads per key head
  std::size_t queries = 1;
  std::size_t keys = 1;
  std::size_t dim = 1;        // of queries and keys
  std::size_t value_dim = 1;  // of values

  std::size_t heads() const { return kv_heads * group; }
  std::size_t scores() const { return batch * heads() * queries * keys; }

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// A call of attention: numbers of one format, masking, and the requested outputs.
struct AttentionCase {
  numerics::Format format = numerics::Format::f32;
  AttentionShape shape;
  double scale = 1;
  bool causal = false;          // a query sees the keys up to its own position
  int outputs = 1;              // 1: out; 2: and lse; 3: and entropy. For a gradient also 2: dsinks; 3: dbias; 4: both
  std::uint64_t layout = 0;     // selects the tensors' layouts in memory; 0: all compact
  std::vector<double> queries;  // (batch, heads, queries, dim)
  std::vector<double> keys;     // (batch, kv_heads, keys, dim)
  std::vector<double> values;   // (batch, kv_heads, keys, value_dim)
  std::vector<double> gradients;   // (batch, heads, queries, value_dim), of the loss by out; empty for a forward pass
  bool mask_for_each_head = true;  // else one mask for all heads of a batch
  std::vector<std::uint8_t> mask;  // (batch, heads or 1, queries, keys), 1 = visible; empty: no mask
  std::uint64_t mask_byte = 1;     // byte of visible entries: 1 to 255; from 256 on each of these in turn
  std::uint64_t nan = 0;           // selects the NaN that a property puts into a copy (NanPlace); 0: none
  AttentionAttributes attributes;
  AttentionSequences sequences;
  std::string family;  // how it was drawn; not part of its text

  std::size_t mask_heads() const { return mask_for_each_head ? shape.heads() : 1; }
  /// The byte of a visible mask entry.
  std::uint8_t byte_of(std::size_t entry) const;
  /// Number of queries or keys of sequence b: the shape's, or its own.
  std::size_t queries_of(std::size_t b) const { return sequences.any() ? sequences.queries[b] : shape.queries; }
  std::size_t keys_of(std::size_t b) const { return sequences.any() ? sequences.keys[b] : shape.keys; }
  /// The key position of query i in sequence b; may lie outside the keys.
  std::int64_t place_of(std::size_t b, std::size_t i) const;
  /// Number of leading keys that causality shows to query i; all without causality.
  std::size_t reported_keys(std::size_t b, std::size_t i) const;
  /// Do query heads read other key heads than h / group?
  bool is_interleaved() const { return attributes.interleaved && shape.group > 1 && shape.kv_heads > 1; }
  /// Is each value the first numbers of its key, bit for bit?
  bool holds_values_in_keys() const;
  /// Is the alignment one that version 1 cannot express, and does it matter?
  bool is_top_left() const;
  /// Is any attribute on?
  bool has_attributes() const;
  /// For a gradient: does the call ask for that by the sinks?
  bool asks_sink_gradients() const { return outputs % 2 == 0 && !attributes.sinks.empty(); }
  /// Does it ask for that by the bias?
  bool asks_bias_gradient() const { return outputs > 2 && !attributes.bias.empty(); }
  /// Does the call have anything that version 1 cannot express?
  bool needs_version_2() const;
  std::size_t bias_heads() const { return attributes.bias_for_each_head ? shape.heads() : 1; }
  /// Offset of the bias row of query i in head h.
  std::size_t bias_row(std::size_t b, std::size_t h, std::size_t i) const;
  /// Format of keys and values.
  numerics::Format cache_format() const { return attributes.cache.value_or(format); }
  /// Offset of query i of head h among the dropout's rows.
  std::size_t kept_row(std::size_t b, std::size_t h, std::size_t i) const {
    return ((b * shape.heads() + h) * shape.queries + i) * shape.keys;
  }
  /// Does query i of head h see key j?
  bool sees(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const;

  friend bool operator==(const AttentionCase& a, const AttentionCase& b);
};

/// Restricts the cases that a property draws.
struct AttentionOptions {
  numerics::Format format = numerics::Format::f32;
  std::size_t max_keys = 300;  // one case in eight may have long_keys instead
  std::size_t long_keys = 2048;
  std::size_t max_work = std::size_t{1} << 17;  // scores * (dim + value_dim)
  bool masks = true;
  bool causal = true;          // some cases may be causal
  bool always_causal = false;  // all cases are, with at least as many keys as queries
  bool blind_queries = false;  // queries may see nothing, and there may be no keys or no queries
  bool layouts = false;        // false: all tensors are compact
  bool gradients = false;      // the op is a gradient: cases have gradients, and do not choose their outputs
  bool sigmoid = false;        // the op is sigmoid attention: cases have its bias, and one output
  /// The scores' unit roundoff: (dim + 4) unit |scale| sum |q k| stays below 1/16, so that thresholds are meaningful.
  double score_unit = 0x1p-24;
  bool attributes = false;         // draw the attributes that the domain names
  double cap_unit = 10 * 0x1p-24;  // relative error of a softcap
  Domain domain{};                 // all cases lie in it
};

/// The case's traits for domains, without the alignment, which the caller chooses.
CallTraits traits_of(const AttentionCase& attention);

/// Does each tensor have as many numbers as the shape says?
bool sizes_agree(const AttentionCase& attention);

/// Does the domain contain the call, including the lengths of its sequences?
bool lies_in(const Domain& domain, const AttentionCase& attention, CallTraits traits);

/// Is the case valid for a replay with these options: format, sizes, and numbers of the format?
bool admits(const AttentionOptions& options, const AttentionCase& attention);

/// Scores of every kind (ramps, late peaks, ties, plateaus, offsets, magnitudes of 10^4, near-ties, dispersing, sharp),
/// from keys along one direction or independent normal keys; values that are normal, one-hot, constant or large at one
/// key; grouped heads; masks per head or shared; unequal lengths.
rc::Gen<AttentionCase> attention_cases(const AttentionOptions& options);

/// Simpler cases: no layout, no mask, fewer batches, heads, queries, keys or dimensions, rounder numbers.
rc::Seq<AttentionCase> shrink_attention_case(const AttentionCase& attention, const AttentionOptions& options);

/// "attention f32 batch=1 kv=1 group=1 queries=1 keys=2 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0
/// mask=none q 0x1p+0 k 0x0p+0*2 v 0x1p+0 0x1p+1". A mask is mask=heads:10... or mask=shared:10..., followed by its
/// visible byte as byte=255; a NaN is nan=1; attributes are window=3:all alignment=top-left softcap=0x1p+5 sinks slopes
/// bias=heads dropout=0x1p+1 cache=f16, where the numbers of sinks, slopes, bias and the dropout (kept) follow v's,
/// then a gradient's dout, and dlse if it is an attribute; sequences are packed pages=16 order=7 lengths=2:3,0:1.
/// Repetitions are written once: "[ 0x1p+0 0x1p+1 ]*40", in a mask "(10)*40,".
///
/// Of a linear layer's loss: "linear f32 hidden=1x2 weight=3x2 labels=1 upstream=1 layout=0 hidden 0x1p+0*2 weight
/// 0x1p+0*6 labels 2 upstream 0x1p+0", without upstream unless the op is the gradient. The labels follow from the rest.
std::string to_text(const AttentionCase& attention);
/// The text before the mask and the numbers.
std::string head_text(const AttentionCase& attention);
void from_text(std::string_view text, AttentionCase& attention);
/// Number of scores.
std::size_t size_of(const AttentionCase& attention);
void showValue(const AttentionCase& attention, std::ostream& stream);

/// Multiplies the queries by a power of two such that max |scale| sum |q k| is at most this.
void limit_scores(AttentionCase& attention, double limit);
/// The limit that keeps a domain's bounds on logits; infinity without bounds.
double score_limit(const Domain& domain);

/// Changes each length to the domain's nearest.
void fit_shape(AttentionShape& shape, const Domain& domain);

/// Count of the numbers of queries, keys, values and a mask.
std::size_t numbers_of(const AttentionShape& shape);

/// A NaN in one number of a call: the tensor, the position, and the bits.
struct NanPlace {
  enum class Tensor { query, key, value, out_gradient };  // out_gradient: only for gradients; not encoded in number()
  enum class Position { first, middle, last };            // along every axis of the tensor
  enum class Bits { quiet, quiet_negative, signalling, signalling_negative, payload, payload_negative };
  static constexpr std::size_t tensors = 3, positions = 3, patterns = 6;

  Tensor tensor = Tensor::query;
  Position position = Position::first;
  Bits bits = Bits::quiet;

  /// The value of AttentionCase::nan; never 0.
  std::uint64_t number() const;
  /// The inverse of number(), for numbers >= 1.
  static NanPlace of(std::uint64_t number);
  /// The index along an axis of this extent: 0, the middle, or the last.
  std::size_t along(std::size_t extent) const;
};

/// The bits of such a NaN. A payload has its highest and lowest bit set.
std::uint64_t nan_bits(numerics::Format format, NanPlace::Bits bits);

}  // namespace softcheck::proptests
