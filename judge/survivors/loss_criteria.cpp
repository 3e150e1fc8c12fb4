#include <algorithm>
#include <cmath>

#include "judge/survivors/loss_case.hpp"
#include "judge/survivors/published.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// Rows of tens of thousands of classes: so many that some are ignored and some are not.
constexpr std::int64_t rows_of_losses = 8;

std::vector<std::int64_t> random_labels(Draw& draw, std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) {
    labels.push_back(static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(classes))));
  }
  return labels;
}

void ignore_some(Draw& draw, LossBatch& batch) {
  const auto rows = static_cast<std::uint64_t>(batch.rows);
  const std::uint64_t count = 1 + draw.below(std::max<std::uint64_t>(1, rows / 2 - 1));
  for (std::uint64_t i = 0; i < count; ++i) batch.labels[draw.below(rows)] = batch.ignore_index;
}

// test_cross_entropy.py: each of its parameters once; loss and gradient are compared with torch.allclose(torch, liger).
struct LigerParameters {
  double smoothing, z_loss;
  std::int64_t ignore_index;
  bool ignores;
};
constexpr LigerParameters liger_parameters[] = {{0, 0, -100, false},    {0, 0, 2, true},        {0, 0, -123, true},
                                                {0.1, 0, -100, false},  {0.1, 0, 1, true},      {0.2, 0, -300, true},
                                                {0, 1e-4, -100, false}, {0, 1e-5, -100, false}, {0.1, 1e-4, -42, true}};

std::vector<CriterionCase> liger_cases(Draw& draw, Format format, double relative, bool gradient) {
  std::vector<CriterionCase> cases;
  for (const LigerParameters& parameters : liger_parameters) {
    LossBatch batch{.format = format,
                    .rows = rows_of_losses,
                    .columns = 32000,
                    .label_smoothing = parameters.smoothing,
                    .z_loss = parameters.z_loss,
                    .ignore_index = parameters.ignore_index,
                    .labels = random_labels(draw, rows_of_losses, 32000)};
    if (parameters.ignores) ignore_some(draw, batch);
    const LossLogits normal = [&] { return draw.normal(); };
    const std::vector<Comparison> rule{{Rule::allclose_of_got, 1e-8, relative}};
    if (!gradient) {
      cases.push_back(loss_case(batch, normal, rule));
      continue;
    }
    // backward() of the sum, of the mean over 8192 rows, and of three times that.
    for (const double upstream : {1.0, 1.0 / 8192, 3.0 / 8192}) {
      cases.push_back(loss_gradient_case(
          batch, normal, [=](double) { return upstream; }, rule));
    }
  }
  return cases;
}

Criterion liger_cross_entropy(const char* name, Format format, double relative, const char* tolerance, bool gradient) {
  return {.name = name,
          .source = "linkedin/Liger-Kernel test/transformers/test_cross_entropy.py@af35a6c",
          .op = gradient ? "cross_entropy_backward" : "cross_entropy",
          .format = format,
          .inputs = "normal, sd 1; ignored rows, label smoothing 0.1 and 0.2, z-loss 1e-4 and 1e-5",
          .shapes = "8192 x 32000, 1269 x 32000",
          .tolerance = tolerance,
          .deviation = "8 rows; losses of rows, where the source compares most as a mean; no class weights, no softcap",
          .cases = [=](Draw& draw) { return liger_cases(draw, format, relative, gradient); }};
}

// test_correctness_with_softcap_once: a softcap of 30, losses of rows, and the gradient of their sum.
Criterion liger_softcap(const char* name, Format format, double relative, const char* tolerance, bool gradient) {
  return {.name = name,
          .source = "linkedin/Liger-Kernel test/transformers/test_cross_entropy.py@af35a6c",
          .op = gradient ? "cross_entropy_backward" : "cross_entropy",
          .format = format,
          .inputs = "normal, sd 1; softcap 30",
          .shapes = "8192 x 32000, 1269 x 32000",
          .tolerance = tolerance,
          .deviation = "8 rows",
          .cases = [=](Draw& draw) {
            const LossBatch batch{.format = format,
                                  .rows = rows_of_losses,
                                  .columns = 32000,
                                  .softcap = 30,
                                  .labels = random_labels(draw, rows_of_losses, 32000)};
            const LossLogits normal = [&] { return draw.normal(); };
            const std::vector<Comparison> rule{{Rule::allclose_of_got, 1e-8, relative}};
            if (!gradient) return std::vector{loss_case(batch, normal, rule)};
            return std::vector{loss_gradient_case(
                batch, normal, [](double) { return 1.0; }, rule)};
          }};
}

// test_fused_linear_cross_entropy.py: hidden states normal, weights uniform in [0, 1), so that a logit is nearly normal
// about half the sum of the hidden states, with a variance of a twelfth of their squares' sum.
std::vector<CriterionCase> fused_linear_cases(Draw& draw, Format format, double absolute, double relative, bool mean) {
  struct Shape {
    std::int64_t rows, hidden, classes;
  };
  std::vector<CriterionCase> cases;
  for (const Shape shape : {Shape{1024, 1024, 4096}, Shape{188, 31, 123}}) {
    LossBatch batch{.format = format,
                    .rows = 4 * rows_of_losses,
                    .columns = shape.classes,
                    .labels = random_labels(draw, 4 * rows_of_losses, shape.classes)};
    ignore_some(draw, batch);
    const auto hidden = static_cast<double>(shape.hidden);
    double centre = 0;
    std::int64_t column = 0;
    const LossLogits logit = [&] {
      if (column++ % shape.classes == 0) centre = draw.normal() * std::sqrt(hidden) / 2;
      return centre + draw.normal() * std::sqrt(hidden / 12);
    };
    const double upstream = mean ? 1 / static_cast<double>(shape.rows) : 1;
    cases.push_back(loss_gradient_case(batch, logit, [=](double) { return upstream; },
                                       {{Rule::allclose_of_got, absolute, relative}}));
  }
  return cases;
}

Criterion fused_linear(const char* name, Format format, double absolute, double relative, const char* tolerance,
                       bool mean) {
  return {.name = name,
          .source = "linkedin/Liger-Kernel test/transformers/test_fused_linear_cross_entropy.py@da1e92d",
          .op = "cross_entropy_backward",
          .format = format,
          .inputs = "normal with sd sqrt(H / 12) about a centre of each row; ignored rows",
          .shapes = "1024 x 4096 with H = 1024, 188 x 123 with H = 31",
          .tolerance = tolerance,
          .deviation =
              "32 rows; asked of the gradient by the logits, where the source asks it of the gradients by what "
              "the logits are made of; no class weights, no softcap",
          .cases = [=](Draw& draw) { return fused_linear_cases(draw, format, absolute, relative, mean); }};
}

// one_iteration_test: torch.rand logits; the losses are squared, so that upstream is 2 loss, or 2 mean / rows.
struct TransformerEngineParameters {
  double smoothing, z_loss;
  bool reduced, ignores;
};
constexpr TransformerEngineParameters engine_parameters[] = {
    {0, 0, true, false},    {0.1, 0, true, false},     {0, 0, false, false},    {0, 0, false, true},
    {0, 0, true, true},     {0, 0.001, false, false},  {0, 0.001, false, true}, {0, 0.001, true, false},
    {0, 0.001, true, true}, {0.1, 0.001, false, false}};

std::vector<CriterionCase> engine_cases(Draw& draw, bool gradient) {
  constexpr double absolute = 1e-5, relative = 1.3e-6;
  std::vector<CriterionCase> cases;
  for (const TransformerEngineParameters& parameters : engine_parameters) {
    const std::int64_t classes = draw.one_in(2) ? 64000 : 128000;
    LossBatch batch{.rows = rows_of_losses,
                    .columns = classes,
                    .label_smoothing = parameters.smoothing,
                    .z_loss = parameters.z_loss,
                    .labels = random_labels(draw, rows_of_losses, classes)};
    if (parameters.ignores) ignore_some(draw, batch);
    const double rows = draw.one_in(2) ? 64 : 128;
    const LossLogits uniform = [&] { return draw.unit(); };
    if (!gradient) {
      cases.push_back(loss_case(batch, uniform, {{Rule::squares, absolute, relative}}));
    } else {
      const auto upstream = [&](double loss) { return 2 * loss / (parameters.reduced ? rows : 1); };
      cases.push_back(loss_gradient_case(batch, uniform, upstream, {{Rule::allclose, absolute, relative}}));
    }
  }
  return cases;
}

Criterion transformer_engine(const char* name, bool gradient) {
  return {.name = name,
          .source = "NVIDIA/TransformerEngine tests/pytorch/test_parallel_cross_entropy.py@0b638b9",
          .op = gradient ? "cross_entropy_backward" : "cross_entropy",
          .inputs = "uniform in [0, 1); ignored rows, label smoothing 0.1, z-loss 0.001",
          .shapes = "{64, 128} x {64000, 128000}",
          .tolerance = gradient ? "1e-5 + 1.3e-6 |g|" : "1e-5 + 1.3e-6 loss^2 of loss^2",
          .deviation = "8 rows; a row's own loss in place of the mean, also in its gradient's factor",
          .cases = [=](Draw& draw) { return engine_cases(draw, gradient); }};
}

}  // namespace

std::vector<Criterion> loss_criteria() {
  return {
      liger_cross_entropy("Liger cross-entropy fp32", Format::f32, 1e-6, "1e-8 + 1e-6 |got|", false),
      liger_cross_entropy("Liger cross-entropy bf16", Format::bf16, 5e-2, "1e-8 + 5e-2 |got|", false),
      transformer_engine("TE parallel cross-entropy", false),
      liger_cross_entropy("Liger gradient fp32", Format::f32, 1e-6, "1e-8 + 1e-6 |got|", true),
      liger_cross_entropy("Liger gradient bf16", Format::bf16, 5e-2, "1e-8 + 5e-2 |got|", true),
      fused_linear("Liger fused linear, sum bf16", Format::bf16, 5, 50, "5 + 50 |got|", false),
      fused_linear("Liger fused linear, mean bf16", Format::bf16, 5e-3, 5e-2, "5e-3 + 5e-2 |got|", true),
      fused_linear("Liger fused linear, sum fp32", Format::f32, 1e-3, 5e-2, "1e-3 + 5e-2 |got|", false),
      transformer_engine("TE parallel gradient", true),
      liger_softcap("Liger softcap fp32", Format::f32, 1e-6, "1e-8 + 1e-6 |got|", false),
      liger_softcap("Liger softcap bf16", Format::bf16, 5e-2, "1e-8 + 5e-2 |got|", false),
      liger_softcap("Liger softcap gradient fp32", Format::f32, 1e-6, "1e-8 + 1e-6 |got|", true),
      liger_softcap("Liger softcap gradient bf16", Format::bf16, 5e-2, "1e-8 + 5e-2 |got|", true),
  };
}

}  // namespace softcheck::proptests
