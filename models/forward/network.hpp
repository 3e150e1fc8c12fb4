#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::models {

// What else than its heads a language model computes with, as places in a checkpoint: enough to run it forward on ids
// of tokens. No tensor is read to describe it.

/// y = W x + b; without a name of a bias y = W x.
struct Linear {
  MatrixPlace weights = {};
  VectorPlace bias = {};
};

/// What stands between the two halves of a feed-forward part.
enum class Activation {
  gelu,       // x Phi(x), Phi by erf
  gelu_tanh,  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  relu,
  silu,  // x / (1 + e^-x)
};

/// "gelu", "gelu_new", ... as transformers names it in a configuration; none where it is not one of them.
std::optional<Activation> activation_named(const std::string& name);
/// The names, with commas between.
std::string activation_names();

/// A matrix for each expert, and a bias where the name is not empty: tensors (experts, outputs, inputs) and (experts,
/// outputs).
struct ExpertLinear {
  std::string weights = {}, bias = {};
  bool transposed = false;  // stored as (experts, inputs, outputs)
};

/// gpt-oss: a token goes to the experts with its largest scores, and their results are summed with the softmax of these
/// scores. Of an expert's rows, gate g and up u in turn, comes (min(max(u, -limit), limit) + 1) g' / (1 + e^(-alpha
/// g')) with g' = min(g, limit).
struct Experts {
  Linear router = {};
  ExpertLinear gate_and_up = {}, down = {};
  std::int64_t chosen = 0;
  double alpha = 0, limit = 0;
};

/// x becomes z + f(z) or x + f(z) with z = norm(x), or z = x where there is no norm: first f is attention behind the
/// layer's input norm, then the feed-forward part behind its middle norm. A norm at the end of either acts on f(z).
struct Block {
  HeadDescription attention = {};  // of the layer's first head: scale, mask, positions and norms are those of all
  Linear query = {}, key = {}, value = {}, output = {};  // of all heads
  std::optional<InputNorm> attention_end = {};
  std::optional<InputNorm> middle_norm = {};
  Linear up = {}, down = {};
  std::optional<Linear> gate = {};  // down(activation(gate z) * up z) instead of down(activation(up z))
  std::optional<InputNorm> feed_forward_end = {};
  std::optional<Experts> experts = {};  // instead of up, down and gate
};

/// From the last states to logits of the vocabulary.
struct Output {
  InputNorm norm = {};
  MatrixPlace words = {};  // (vocabulary, hidden)
  std::optional<double> softcap = {};
};

/// An input's first vectors: the sum of a row for each token, one for its position and one that all tokens share.
struct Embeddings {
  std::string words = {};      // tensor (vocabulary, hidden)
  double factor = 1;           // of the rows of words
  std::string positions = {};  // tensor (positions, hidden); "": there is none
  std::string types = {};      // tensor of which every token takes row 0; "": there is none
  std::int64_t vocabulary = 0;
  /// RoBERTa: a padding token has its own id as position, the others are counted from the next one on. Else positions
  /// count from 0.
  std::optional<std::int64_t> padding = {};
};

struct Network {
  Embeddings embeddings = {};
  std::vector<Block> blocks = {};
  double epsilon = 0;  // of all norms
  Activation activation = Activation::gelu;
  bool residual_is_normed = false;    // z + f(z): BERT, whose norms stand behind each sum; x + f(z): GPT-2
  std::optional<Output> output = {};  // none: of this architecture, or file, no logits are known
};

/// Describes what is needed to run a checkpoint forward: BERT, RoBERTa, XLM-RoBERTa, DistilBERT and GPT-2 in
/// safetensors, and decoders of Llama's layout in either format.
///
/// model    what describe() says of the checkpoint
/// throws   UnsupportedTensorFile for another architecture or format, or an activation that is not known;
///          TensorFileError where a tensor is missing or its shape contradicts the configuration
Network describe_network(const Checkpoint& checkpoint, const ModelDescription& model);

/// The same for the checkpoints of a few model types.
Network bert_network(const Checkpoint& checkpoint, const ModelDescription& model);
Network decoder_network(const Checkpoint& checkpoint, const ModelDescription& model);
Network gpt2_network(const Checkpoint& checkpoint, const ModelDescription& model);

/// A layer's block with what the description of its heads says: the projections to queries and keys of all heads, their
/// norms, positions, scale and mask. The rest is left to fill in.
///
/// model    each layer's heads, and key heads, have rows one behind the other
Block block_of_heads(const ModelDescription& model, std::int64_t layer);

/// The activation that a key of the configuration names; the fallback where it is absent.
///
/// throws   UnsupportedTensorFile naming the activation where it is not known
Activation known_activation(CheckpointView& view, const std::string& key, const std::string& fallback);

/// The activation at x, to a few roundings of a double.
double activate(Activation activation, double x);

/// job(i) for each i below count, on several threads; they take the next i as they are free.
///
/// threads  >= 1
/// throws   what a job throws, of one that failed, when all threads have ended
void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job);

}  // namespace softcheck::models
