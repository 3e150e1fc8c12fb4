#include <cmath>
#include <string>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/published.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

double standard_scale(std::int64_t dim) { return 1 / std::sqrt(static_cast<double>(dim)); }

CriterionCases one_shape(const PublishedTensors& tensors, const Value& value, const Rules& rules, int trials = 1) {
  return [=](Draw& draw, const Criterion& criterion) {
    PublishedTensors shape = tensors;
    shape.format = criterion.format;
    std::vector<CriterionCase> cases;
    for (int trial = 0; trial < trials; ++trial) {
      cases.push_back(attention_case(
          taken(shape), [&] { return value(draw); }, rules));
    }
    return cases;
  };
}

// test_fused_attention_fwd: jax.random.normal in float16, (batch, length, heads, dim), mha's scale 1, assert_allclose
// with atol = 0.05 and rtol = 1e-7.
std::vector<CriterionCase> pallas_cases(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  for (const int batch : {1, 2}) {
    for (const int length : {128, 384}) {
      for (const int heads : {1, 2}) {
        for (const int dim : {32, 64, 128}) {
          for (const bool causal : {true, false}) {
            cases.push_back(attention_case(
                taken({.batch = batch,
                       .heads = heads,
                       .queries = length,
                       .keys = length,
                       .dim = dim,
                       .causal = causal,
                       .heads_inside = true}),
                [&] { return draw.normal(); }, allclose(0.05, 1e-7)));
          }
        }
      }
    }
  }
  return cases;
}

// Tutorial 06: N(0, 0.5) in fp16, scale 0.5, causal; the upstream gradient N(0, 1); atol = 1e-2, rtol = 0, except on
// AMD's gfx90a.
PublishedTensors triton_tensors() {
  return {.heads = 2, .queries = 1024, .keys = 1024, .dim = 64, .scale = 0.5, .causal = true};
}

std::vector<CriterionCase> triton_gradient(Draw& draw, const Criterion&) {
  GradientCase only = attention_gradient_case(
      taken(triton_tensors()), [&] { return 0.5 * draw.normal(); }, [&] { return draw.normal(); });
  ask_gradients(only.criterion_case, std::vector<Comparison>(3, {Rule::allclose, 1e-2, 0}));
  return {std::move(only.criterion_case)};
}

// test_flash_attn_ext: uniform in [-1, 1], K and V in f16, normalized mean square error at most 5e-4.
std::vector<CriterionCase> ggml_attention_cases(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  for (const int dim : {64, 80, 128, 256}) {
    for (const int keys : {512, 1024}) {
      for (const int queries : {1, 2, 4, 8}) {
        cases.push_back(attention_case(
            taken({.heads = 32, .queries = queries, .keys = keys, .dim = dim, .scale = standard_scale(dim)}),
            [&] { return 2 * draw.unit() - 1; }, {{Rule::mean_square, 0, 5e-4}}));
      }
    }
  }
  return cases;
}

// The lengths of a call in FlashAttention's tests.
struct QueryKeyLengths {
  std::int64_t queries, keys;
};

// Calls visit(lengths, dim, causal), except for causal calls in which a query sees no key.
template <class Visit>
void each_call(const std::vector<QueryKeyLengths>& all, const Visit& visit) {
  for (const QueryKeyLengths lengths : all) {
    for (const int dim : {59, 128}) {
      for (const bool causal : {false, true}) {
        if (!causal || lengths.queries <= lengths.keys) visit(lengths, dim, causal);
      }
    }
  }
}

PublishedTensors flash_tensors(QueryKeyLengths lengths, int dim, bool causal, std::int64_t heads = 6) {
  return taken({.batch = 4,
                .heads = heads,
                .queries = lengths.queries,
                .keys = lengths.keys,
                .dim = dim,
                .scale = standard_scale(dim),
                .causal = causal,
                .heads_inside = true});
}

// test_flash_attn_output: torch.randn in fp16; the largest error may be twice that of PyTorch in fp16.
CriterionCase flash_case(const PublishedTensors& tensors, const std::function<double()>& value) {
  CriterionCase next = attention_case(tensors, value, {});
  next.comparisons = {{Rule::allclose, 2 * error_of_unfused(tensors, next), 0}};
  return next;
}

std::vector<CriterionCase> flash_attention_cases(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  each_call({{113, 203},
             {128, 217},
             {113, 211},
             {108, 256},
             {256, 512},
             {512, 256},
             {1024, 1024},
             {1023, 1024},
             {1024, 1023},
             {2048, 2048}},
            [&](QueryKeyLengths lengths, int dim, bool causal) {
              cases.push_back(flash_case(flash_tensors(lengths, dim, causal), [&] { return draw.normal(); }));
            });
  return cases;
}

void draw_window(Draw& draw, PublishedTensors& tensors) {
  const auto keys = static_cast<std::uint64_t>(tensors.keys);
  tensors.window_left = static_cast<std::int64_t>(draw.below(keys));
  tensors.window_right = static_cast<std::int64_t>(draw.below(keys));
}

// The same lengths, except those in which a query has no key of its own. Queries are multiplied by the softcap, so that
// scores reach it; windows are two lengths below the number of keys; slopes are 0.3 times uniform ones.
std::vector<CriterionCase> attributed_cases(Draw& draw, const Criterion& criterion) {
  const std::string& attribute = criterion.attribute;
  std::vector<CriterionCase> cases;
  each_call({{113, 203}, {128, 217}, {113, 211}, {108, 256}, {256, 512}, {1024, 1024}, {1023, 1024}, {2048, 2048}},
            [&](QueryKeyLengths lengths, int dim, bool causal) {
              PublishedTensors tensors = flash_tensors(lengths, dim, causal, 4);
              if (attribute == "softcap") tensors.softcap = 50;
              if (attribute == "window") draw_window(draw, tensors);
              for (std::int64_t head = 0; attribute == "alibi" && head < tensors.heads; ++head) {
                tensors.slopes.push_back(numerics::round_to(Format::f32, 0.3 * draw.unit()));
              }
              // The test draws the queries first.
              std::int64_t queries = tensors.batch * tensors.heads * tensors.queries * tensors.dim;
              cases.push_back(flash_case(tensors, [&] {
                const bool scaled = queries-- > 0 && tensors.softcap > 0;
                return (scaled ? tensors.softcap : 1) * draw.normal();
              }));
            });
  return cases;
}

// A gradient may have three times the error of PyTorch's in fp16.
std::vector<CriterionCase> flash_gradient_cases(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  each_call({{113, 203}, {128, 217}, {108, 256}, {256, 512}, {1024, 1024}, {1023, 1024}},
            [&](QueryKeyLengths lengths, int dim, bool causal) {
              PublishedTensors tensors = flash_tensors(lengths, dim, causal);
              if (criterion.attribute == "window") draw_window(draw, tensors);
              const auto value = [&] { return draw.normal(); };
              GradientCase next = attention_gradient_case(tensors, value, value);
              std::vector<Comparison> of_each;
              for (const double error : next.errors_of_unfused) of_each.push_back({Rule::allclose, 3 * error, 0});
              ask_gradients(next.criterion_case, of_each);
              cases.push_back(std::move(next.criterion_case));
            });
  return cases;
}

// test_flash_attn_varlen_output: each sequence is up to 20 positions shorter than the longest.
std::vector<CriterionCase> varlen_cases(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  each_call({{113, 203}, {128, 217}, {108, 256}, {256, 512}, {512, 256}},
            [&](QueryKeyLengths longest, int dim, bool causal) {
              std::vector<PublishedTensors> sequences;
              for (int b = 0; b < 2; ++b) {
                sequences.push_back(taken({.heads = 6,
                                           .queries = longest.queries - static_cast<std::int64_t>(draw.below(21)),
                                           .keys = longest.keys - static_cast<std::int64_t>(draw.below(21)),
                                           .dim = dim,
                                           .scale = standard_scale(dim),
                                           .causal = causal}));
              }
              cases.push_back(packed_case(
                  sequences, [&] { return draw.normal(); }, {}, 2));
            });
  return cases;
}

// test_paged_attention: one query per sequence; q, k and v uniform in +-1/sqrt(dim); atol = 1e-3, rtol = 1e-5.
std::vector<CriterionCase> paged_cases(Draw& draw, const Criterion&) {
  constexpr std::int64_t longest = 65536 / 4 - 512;  // floats in the shared memory of an AMD GPU, minus a buffer
  std::vector<CriterionCase> cases;
  for (const int dim : {64, 128}) {
    for (const std::int64_t page : {16, 32}) {
      const double scale = standard_scale(dim);
      std::vector<PublishedTensors> sequences;
      for (int b = 0; b < 2; ++b) {
        const auto drawn = 1 + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(longest)));
        sequences.push_back({.heads = 1, .keys = b == 1 ? longest : drawn, .dim = dim, .scale = scale});
      }
      cases.push_back(paged_case(
          sequences, page, draw, [&] { return scale * (2 * draw.unit() - 1); }, allclose(1e-3, 1e-5)));
    }
  }
  return cases;
}

}  // namespace

std::vector<NamedCases> attention_cases() {
  return {
      // Level 1, problem 97: torch.rand; five trials, atol = rtol = 1e-2.
      {"KernelBench 97 fp16",
       one_shape({.batch = 32, .heads = 32, .queries = 512, .keys = 512, .dim = 1024, .scale = standard_scale(1024)},
                 uniform(0, 1), allclose(1e-2, 1e-2), 5)},
      {"JAX Pallas attention", pallas_cases},
      {"Triton tutorial 06", one_shape(triton_tensors(), normal(0.5), allclose(1e-2, 0))},
      {"ggml flash_attn_ext", ggml_attention_cases},
      // test_fast_sdpa: normal in float32, (1, 3, 20, 64), allclose with atol = 1e-4 and rtol = 1e-5.
      {"MLX fast sdpa", one_shape({.heads = 3, .queries = 20, .keys = 20, .dim = 64, .scale = standard_scale(64)},
                                  normal(), allclose(1e-4, 1e-5))},
      {"FlashAttention", flash_attention_cases},
      {"FlashAttention, softcap", attributed_cases},
      {"FlashAttention, window", attributed_cases},
      {"FlashAttention, ALiBi", attributed_cases},
      {"FlashAttention varlen", varlen_cases},
      {"vLLM paged_attention", paged_cases},
      {"Triton tutorial 06 gradient", triton_gradient},
      {"FlashAttention gradient", flash_gradient_cases},
      {"FlashAttention gradient, window", flash_gradient_cases}};
}

}  // namespace softcheck::proptests
