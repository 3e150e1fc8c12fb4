// Attention and adaptive attention: judged query by query (attention_judge.hpp).
#include <array>

#include "proptests/judge/op.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::array inputs{OpInput{Role::query}, OpInput{Role::key}, OpInput{Role::value}};
constexpr std::array<std::string_view, 3> outputs{"output", "lse", "entropy"};
constexpr std::array<std::string_view, 3> plain_claims{"kernel.attention.output", "kernel.attention.lse",
                                                       "kernel.attention.entropy"};
constexpr std::array<std::string_view, 3> adaptive_claims{
    "kernel.adaptive_attention.output", "kernel.adaptive_attention.lse", "kernel.adaptive_attention.entropy"};
constexpr std::array<std::string_view, 4> words{"weights", "values", "scores", "scale"};

class Attention final : public OpDefinition {
 public:
  constexpr Attention(std::string_view name, std::span<const std::string_view> claims, bool adaptive)
      : OpDefinition({.name = name,
                      .inputs = inputs,
                      .outputs = outputs,
                      .claims = claims,
                      .attention = true,
                      .has_theta = false,
                      .adaptive = adaptive,
                      .answers = {.words = words, .coefficients = true, .dear = true}}) {}
};

constinit const Attention plain("attention", plain_claims, false);
constinit const Attention adaptive("adaptive_attention", adaptive_claims, true);

}  // namespace

constinit const Op Op::attention = plain;
constinit const Op Op::adaptive_attention = adaptive;

}  // namespace softcheck::proptests
