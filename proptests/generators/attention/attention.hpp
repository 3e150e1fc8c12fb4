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

/// The lengths of attention's tensors. Query head h = (kv, g) of kv_heads * group looks at key head kv.
struct AttentionShape {
  std::size_t batch = 1;
  std::size_t kv_heads = 1;
  std::size_t group = 1;  // query heads for each key head
  std::size_t queries = 1;
  std::size_t keys = 1;
  std::size_t dim = 1;        // of a query and of a key
  std::size_t value_dim = 1;  // of a value

  std::size_t heads() const { return kv_heads * group; }
  std::size_t scores() const { return batch * heads() * queries * keys; }

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// A call of attention: numbers of one format, how they are masked, and what is asked for.
struct AttentionCase {
  numerics::Format format = numerics::Format::f32;
  AttentionShape shape;
  double scale = 1;
  bool causal = false;            // a query sees the keys up to its own place
  int outputs = 1;                // 1: out; 2: and lse; 3: and entropy. Of a gradient 2: dsinks, too; 3: dbias; 4: both
  std::uint64_t layout = 0;       // numbers how the tensors lie in memory; 0: all compact
  std::vector<double> queries;    // (batch, heads, queries, dim)
  std::vector<double> keys;       // (batch, kv_heads, keys, dim)
  std::vector<double> values;     // (batch, kv_heads, keys, value_dim)
  std::vector<double> gradients;  // (batch, heads, queries, value_dim), of the loss by out; none of a forward pass
  bool mask_for_each_head = true;  // else one mask for all heads of a batch
  std::vector<std::uint8_t> mask;  // (batch, heads or 1, queries, keys), 1 = visible; empty: there is none
  std::uint64_t mask_byte = 1;     // how 1 is passed: 1 to 255 as this byte, from 256 on as each of them in turn
  std::uint64_t nan = 0;           // numbers a NaN that a property puts into a copy (attention_nan.hpp); 0: none
  AttentionAttributes attributes;
  AttentionSequences sequences;
  std::string family;  // how it was drawn; no part of its text

  std::size_t mask_heads() const { return mask_for_each_head ? shape.heads() : 1; }
  /// The byte that is passed for an entry of the mask.
  std::uint8_t byte_of(std::size_t entry) const;
  /// How many of each sequence b has: the shape's, or its own.
  std::size_t queries_of(std::size_t b) const { return sequences.any() ? sequences.queries[b] : shape.queries; }
  std::size_t keys_of(std::size_t b) const { return sequences.any() ? sequences.keys[b] : shape.keys; }
  /// The key that query i of sequence b stands at, which may lie before the first one or behind the last one.
  std::int64_t place_of(std::size_t b, std::size_t i) const;
  /// How many keys, from the first on, causality shows to query i; all without it.
  std::size_t reported_keys(std::size_t b, std::size_t i) const;
  /// Do places matter that version 1 cannot say?
  bool is_top_left() const;
  /// Is an attribute there?
  bool has_attributes() const;
  /// Of a gradient: is that by the sinks asked for?
  bool asks_sink_gradients() const { return outputs % 2 == 0 && !attributes.sinks.empty(); }
  /// And that by the bias?
  bool asks_bias_gradient() const { return outputs > 2 && !attributes.bias.empty(); }
  /// Is there anything that version 1 of a call cannot say?
  bool needs_version_2() const;
  std::size_t bias_heads() const { return attributes.bias_for_each_head ? shape.heads() : 1; }
  /// Where the bias of query i of head h begins.
  std::size_t bias_row(std::size_t b, std::size_t h, std::size_t i) const;
  /// Does query i of head h see key j?
  bool sees(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const;

  friend bool operator==(const AttentionCase& a, const AttentionCase& b);
};

/// What cases a property needs.
struct AttentionOptions {
  numerics::Format format = numerics::Format::f32;
  std::size_t max_keys = 300;  // one case in eight may have long_keys
  std::size_t long_keys = 2048;
  std::size_t max_work = std::size_t{1} << 17;  // scores * (dim + value_dim)
  bool masks = true;
  bool causal = true;          // may be
  bool always_causal = false;  // is, with at least as many keys as queries
  bool blind_queries = false;  // some queries may see nothing, there may be no keys or no queries
  bool layouts = false;        // else all tensors are compact
  bool gradients = false;      // the op is a gradient: cases have them, and do not choose their outputs
  /// The scores' unit roundoff: (dim + 4) unit |scale| sum |q k| stays below 1/16, so that thresholds say something.
  double score_unit = 0x1p-24;
  bool attributes = false;         // those that the domain names are drawn
  double cap_unit = 10 * 0x1p-24;  // what a softcap errs by, relative to itself
  Domain domain{};                 // no case lies outside it
};

/// What a domain asks of a case; the alignment is the caller's to choose.
CallTraits traits_of(const AttentionCase& attention);

/// Are there as many numbers of each tensor as the shape says?
bool sizes_agree(const AttentionCase& attention);

/// Does the domain have the call, and each of its sequences' lengths?
bool lies_in(const Domain& domain, const AttentionCase& attention, CallTraits traits);

/// Does the case keep to the options where a replay needs it: format, sizes, numbers of the format?
bool admits(const AttentionOptions& options, const AttentionCase& attention);

/// Scores of every kind - ramps, late peaks, ties, plateaus, offsets, some 10^4, near-ties, dispersing, sharp - from
/// keys along one direction or from independent normal ones; values that are normal, one-hot, one or large at one key;
/// grouped heads; masks with one head or all; unequal lengths.
rc::Gen<AttentionCase> attention_cases(const AttentionOptions& options);

/// Simpler cases: no layout, no mask, fewer batches, heads, queries, keys, dimensions, rounder numbers.
rc::Seq<AttentionCase> shrink_attention_case(const AttentionCase& attention, const AttentionOptions& options);

/// "attention f32 batch=1 kv=1 group=1 queries=1 keys=2 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0
/// mask=none q 0x1p+0 k 0x0p+0*2 v 0x1p+0 0x1p+1"; a mask is mask=heads:10... or mask=shared:10..., its visible byte
/// byte=255 behind it, a NaN nan=1, attributes window=3:all alignment=top-left softcap=0x1p+5 sinks slopes bias=heads,
/// the last three with their numbers behind v's, and behind these a gradient's dout, and dlse where dlse stands among
/// the attributes; sequences packed pages=16 order=7
/// lengths=2:3,0:1. What repeats is written once: "[
/// 0x1p+0 0x1p+1 ]*40", in a mask
/// "(10)*40,".
std::string to_text(const AttentionCase& attention);
/// The same up to the mask, without the numbers.
std::string head_text(const AttentionCase& attention);
void from_text(std::string_view text, AttentionCase& attention);
/// Scores.
std::size_t size_of(const AttentionCase& attention);
void showValue(const AttentionCase& attention, std::ostream& stream);

/// The nearest lengths that the domain has.
void fit_shape(AttentionShape& shape, const Domain& domain);

/// Of queries, keys, values and a mask.
std::size_t numbers_of(const AttentionShape& shape);

}  // namespace softcheck::proptests
