#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

// What a Transformer's attention heads are made of, as places in a checkpoint: no tensor is read to make a description,
// but for the small tables by which a GGUF file divides rotary frequencies. Each architecture is one file that makes
// it; models/bounds knows nothing else of architectures. Members have initializers throughout: g++ warns where a
// designated initializer leaves out one that has none.

/// Part of a stored matrix that stands for the rows of a (outputs, inputs) projection.
struct MatrixPlace {
  std::string tensor = {};
  IndexRange outputs = {};  // which of the stored outputs
  bool transposed = false;  // stored as (inputs, outputs): GPT-2's Conv1D
};

/// Part of a stored vector; an empty name: there is none.
struct VectorPlace {
  std::string tensor = {};
  IndexRange entries = {};
};

enum class NormKind { layer_norm, rms_norm };

/// The normalisation before the projections: of d numbers, with a gain and, at a LayerNorm, an offset.
struct InputNorm {
  NormKind kind = NormKind::layer_norm;
  VectorPlace gain = {};       // an empty name: all ones
  VectorPlace offset = {};     // an empty name: zeros
  bool gain_plus_one = false;  // Gemma: the gain is 1 + what is stored
};

/// A normalisation of queries and keys behind their projections (RMS, no offset).
struct HeadNorm {
  VectorPlace query_gain = {}, key_gain = {};  // this head's (head_dim)
  bool gain_plus_one = false;
  std::int64_t query_width = 0;  // how many numbers are normalised together: head_dim, or all heads' (OLMo2)
  std::int64_t key_width = 0;
};

/// Which coordinates of a head a plane of rotation has.
enum class PlaneLayout {
  half_split,   // p and p + width/2
  interleaved,  // 2p and 2p + 1
};

/// Rotary positions: plane p of a query at position i and of a key at j is turned by (j - i) frequency_p.
struct Rotary {
  std::int64_t width = 0;  // the first coordinates of a head; the others are not turned
  PlaneLayout layout = PlaneLayout::half_split;
  /// Radians a position, width/2 of them; several lists where the model chooses by its input's length (longrope: short,
  /// long; dynamic: the base's).
  std::vector<std::vector<numerics::Enclosure>> frequencies = {};
  std::int64_t short_items = 0;                         // longrope: the first list is that of inputs of at most so many
  numerics::Enclosure factor = numerics::Enclosure(1);  // of cos and sin (yarn, longrope): logits get its square
  bool same_at_every_length = true;                     // dynamic: beyond the context the frequencies are others
};

/// A number that is added to each logit, by the distance of query and key (T5): a column of a table, a row for each
/// bucket of distances. Without a causal mask the second half of the buckets is for keys behind the query. Distances
/// below half of those that a direction has are a bucket each.
struct DistanceBias {
  std::string table = {};  // (buckets, heads)
  std::int64_t head = 0;
};

/// The turned coordinates of a key, which all heads share, where they have a projection and a norm of their own (MLA).
/// They are the last of a query as it is stored; the head's own key has the others.
struct TurnedKey {
  MatrixPlace matrix = {};
  InputNorm norm = {};
};

/// One attention head of one layer.
struct HeadDescription {
  int layer = 0;
  int head = 0;
  int key_head = 0;  // grouped queries: several heads share one
  MatrixPlace query = {}, key = {};
  VectorPlace query_bias = {}, key_bias = {};
  std::optional<InputNorm> input_norm = {};  // none: only a head norm bounds queries and keys
  std::optional<InputNorm> key_norm = {};    // of what keys are made of, where it is another (cross-attention)
  std::optional<HeadNorm> head_norm = {};
  std::optional<TurnedKey> turned_key = {};
  std::optional<Rotary> rotary = {};
  numerics::Enclosure scale = numerics::Enclosure(1);  // of q . k, without the rotary factor
  std::optional<double> softcap = {};                  // logits become c tanh(logit / c)
  std::optional<DistanceBias> distance_bias = {};
  std::optional<std::uint64_t> window = {};  // most items that a query attends to
  VectorPlace sink = {};                     // one number: a score that joins the denominator
  bool causal = true;
};

/// What the first layer's norm reads, for every text: the token's row, plus the rows of its position and type where the
/// model adds them. Models that do more to it have none.
struct TokenInputs {
  std::string tokens = {};        // (vocabulary, hidden)
  std::string positions = {};     // (positions, hidden); empty: not added
  IndexRange position_rows = {};  // those that items stand at which are no padding
  std::string types = {};         // (types, hidden); empty: not added
  double epsilon = 0;             // of the first layer's norm
};

/// All heads of a model, layer by layer, head by head.
struct ModelDescription {
  std::string architecture = {};  // "bert": config.json's model_type, GGUF's general.architecture; a part's name
  std::int64_t layers = 0;
  std::int64_t heads = 0;  // of a layer
  std::int64_t key_heads = 0;
  std::int64_t hidden = 0;  // d
  std::int64_t head_dim = 0;
  std::int64_t context = 0;  // most items the model was made for
  std::optional<TokenInputs> inputs = {};
  std::vector<HeadDescription> head_list = {};
  /// Of a model of several stacks of layers ("text", "vision"): the sizes of each, without heads. Layers are numbered
  /// through all parts. The sizes above are then the first part's, except `layers`, the sum.
  std::vector<ModelDescription> parts = {};

  const ModelDescription& part_of(std::int64_t layer) const {
    for (const ModelDescription& part : parts) {
      if (layer < part.layers) return part;
      layer -= part.layers;
    }
    return *this;
  }
  std::int64_t heads_of_all_layers() const {
    std::int64_t sum = parts.empty() ? layers * heads : 0;
    for (const ModelDescription& part : parts) sum += part.layers * part.heads;
    return sum;
  }
};

/// Describes a checkpoint of any known architecture and holds its tensors' names and shapes against its configuration.
///
/// throws   UnsupportedTensorFile naming the architecture, key or tensor where the certificate would not hold: an
/// unknown
///          model_type, ALiBi, most relative positions, log-n scaling, quantised or adapter tensors, an unknown rope
///          type; TensorFileError where configuration and tensors contradict each other
ModelDescription describe(const Checkpoint& checkpoint);

}  // namespace softcheck::models
