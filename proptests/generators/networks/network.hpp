#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "proptests/engine/rapidcheck_types.hpp"

namespace softcheck::theory {
struct SmallTransformerShape;
}

namespace softcheck::proptests {

/// bert, paper eq. (4): every token attends to all. gpt, eq. (5): to itself and earlier ones.
enum class Mask { bert, gpt };
enum class Nonlinearity { relu, tanh, gelu };

/// A small Transformer over a finite vocabulary, and a number of tokens. theory::small_transformer derives its weights
/// from the seed: k/16 with odd k in [-15, 15] (values + h/64 in head h), times weight_scale.
struct SmallNetworkCase {
  std::uint64_t seed = 0;
  int vocabulary = 2;
  int width = 1;
  int heads = 1;
  int depth = 1;
  Mask mask = Mask::bert;
  bool residual = true;
  bool feedforward = false;
  Nonlinearity activation = Nonlinearity::relu;
  double theta = 1;
  double weight_scale = 1;
  std::uint64_t length = 1;  // tokens

  friend bool operator==(const SmallNetworkCase&, const SmallNetworkCase&) = default;
};

/// Everything except the length.
theory::SmallTransformerShape shape_of(const SmallNetworkCase& network);

/// Restricts the networks that a property draws.
struct NetworkOptions {
  int max_vocabulary = 4;
  int max_width = 4;
  int max_heads = 2;
  int max_depth = 3;
  std::uint64_t max_length = std::uint64_t{1} << 20;
  bool bert = true, gpt = true;               // at least one
  bool with_residual = true, without = true;  // at least one
  bool feedforward = true;                    // some networks have MLPs
};

/// Does the network satisfy the options?
bool admits(const NetworkOptions& options, const SmallNetworkCase& network);

/// throws   std::invalid_argument if no network satisfies the options
rc::Gen<SmallNetworkCase> network_cases(const NetworkOptions& options = {});

/// Fewer layers, heads, tokens or symbols, a smaller width, seed 0, theta and weight_scale 1, no MLP, BERT, ReLU.
rc::Seq<SmallNetworkCase> shrink_network_case(const SmallNetworkCase& network, const NetworkOptions& options = {});

/// "network seed=0x1 vocabulary=2 width=2 heads=1 depth=1 mask=bert residual=1 feedforward=0 activation=relu
/// theta=0x1p+0 weight_scale=0x1p+0 length=3"
std::string to_text(const SmallNetworkCase& network);
void from_text(std::string_view text, SmallNetworkCase& network);
/// Number of tokens.
std::size_t size_of(const SmallNetworkCase& network);
void showValue(const SmallNetworkCase& network, std::ostream& stream);

}  // namespace softcheck::proptests
