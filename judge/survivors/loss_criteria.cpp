#include <algorithm>
#include <cmath>

#include "judge/survivors/published.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

// Rows of tens of thousands of classes; enough rows for some to be ignored and some not.
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

// test_cross_entropy.py: each of its parameters once; losses and gradients are compared with torch.allclose(torch,
// liger).
struct LigerParameters {
  double smoothing, z_loss;
  std::int64_t ignore_index;
  bool ignores;
};
constexpr LigerParameters liger_parameters[] = {{0, 0, -100, false},    {0, 0, 2, true},        {0, 0, -123, true},
                                                {0.1, 0, -100, false},  {0.1, 0, 1, true},      {0.2, 0, -300, true},
                                                {0, 1e-4, -100, false}, {0, 1e-5, -100, false}, {0.1, 1e-4, -42, true}};

bool is_gradient(const Criterion& criterion) { return criterion.op == "cross_entropy_backward"; }

// Adds the case of the losses, or one case of gradients per upstream gradient.
void add_loss_cases(const Criterion& criterion, const LossBatch& batch, const LossLogits& logit,
                    const std::vector<double>& upstreams, const Rules& rules, std::vector<CriterionCase>& cases) {
  if (!is_gradient(criterion)) {
    cases.push_back(loss_case(batch, logit, rules));
    return;
  }
  for (const double upstream : upstreams) {
    cases.push_back(loss_gradient_case(
        batch, logit, [=](double) { return upstream; }, rules));
  }
}

CriterionCases liger_cross_entropy(double relative) {
  return [=](Draw& draw, const Criterion& criterion) {
    std::vector<CriterionCase> cases;
    for (const LigerParameters& parameters : liger_parameters) {
      LossBatch batch{.format = criterion.format,
                      .rows = rows_of_losses,
                      .columns = 32000,
                      .label_smoothing = parameters.smoothing,
                      .z_loss = parameters.z_loss,
                      .ignore_index = parameters.ignore_index,
                      .labels = random_labels(draw, rows_of_losses, 32000)};
      if (parameters.ignores) ignore_some(draw, batch);
      // backward() of the sum, of the mean over 8192 rows, and of three times the mean.
      add_loss_cases(
          criterion, batch, [&] { return draw.normal(); }, {1.0, 1.0 / 8192, 3.0 / 8192},
          allclose_of_got(1e-8, relative), cases);
    }
    return cases;
  };
}

// test_correctness_with_softcap_once: a softcap of 30, losses per row, and the gradient of their sum.
CriterionCases liger_softcap(double relative) {
  return [=](Draw& draw, const Criterion& criterion) {
    const LossBatch batch{.format = criterion.format,
                          .rows = rows_of_losses,
                          .columns = 32000,
                          .softcap = 30,
                          .labels = random_labels(draw, rows_of_losses, 32000)};
    std::vector<CriterionCase> cases;
    add_loss_cases(
        criterion, batch, [&] { return draw.normal(); }, {1.0}, allclose_of_got(1e-8, relative), cases);
    return cases;
  };
}

// test_fused_linear_cross_entropy.py: hidden states normal, weights uniform in [0, 1). A logit is then nearly normal
// around half the sum of the hidden states, with a variance of a twelfth of the sum of their squares.
CriterionCases fused_linear(double absolute, double relative, bool mean) {
  return [=](Draw& draw, const Criterion& criterion) {
    struct Shape {
      std::int64_t rows, hidden, classes;
    };
    std::vector<CriterionCase> cases;
    for (const Shape shape : {Shape{1024, 1024, 4096}, Shape{188, 31, 123}}) {
      LossBatch batch{.format = criterion.format,
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
      add_loss_cases(criterion, batch, logit, {mean ? 1 / static_cast<double>(shape.rows) : 1},
                     allclose_of_got(absolute, relative), cases);
    }
    return cases;
  };
}

// one_iteration_test: torch.rand logits. The losses are squared, so the upstream gradient is 2 loss, or 2 mean / rows.
struct TransformerEngineParameters {
  double smoothing, z_loss;
  bool reduced, ignores;
};
constexpr TransformerEngineParameters engine_parameters[] = {
    {0, 0, true, false},    {0.1, 0, true, false},     {0, 0, false, false},    {0, 0, false, true},
    {0, 0, true, true},     {0, 0.001, false, false},  {0, 0.001, false, true}, {0, 0.001, true, false},
    {0, 0.001, true, true}, {0.1, 0.001, false, false}};

std::vector<CriterionCase> transformer_engine(Draw& draw, const Criterion& criterion) {
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
    const LossLogits uniform_logit = [&] { return draw.unit(); };
    if (!is_gradient(criterion)) {
      cases.push_back(loss_case(batch, uniform_logit, {{Comparison::Rule::squares, absolute, relative}}));
    } else {
      const auto upstream = [&](double loss) { return 2 * loss / (parameters.reduced ? rows : 1); };
      cases.push_back(loss_gradient_case(batch, uniform_logit, upstream, allclose(absolute, relative)));
    }
  }
  return cases;
}

}  // namespace

std::vector<NamedCases> loss_cases() {
  return {{"Liger cross-entropy fp32", liger_cross_entropy(1e-6)},
          {"Liger cross-entropy bf16", liger_cross_entropy(5e-2)},
          {"TE parallel cross-entropy", transformer_engine},
          {"Liger gradient fp32", liger_cross_entropy(1e-6)},
          {"Liger gradient bf16", liger_cross_entropy(5e-2)},
          {"Liger fused linear, sum bf16", fused_linear(5, 50, false)},
          {"Liger fused linear, mean bf16", fused_linear(5e-3, 5e-2, true)},
          {"Liger fused linear, sum fp32", fused_linear(1e-3, 5e-2, false)},
          {"TE parallel gradient", transformer_engine},
          {"Liger softcap fp32", liger_softcap(1e-6)},
          {"Liger softcap bf16", liger_softcap(5e-2)},
          {"Liger softcap gradient fp32", liger_softcap(1e-6)},
          {"Liger softcap gradient bf16", liger_softcap(5e-2)}};
}

}  // namespace softcheck::proptests
