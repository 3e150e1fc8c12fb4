#pragma once

#include <string>
#include <vector>

#include "experiments/evaluation.hpp"
#include "experiments/figures/crowded_sets.hpp"
#include "experiments/figures/gnuplot.hpp"
#include "experiments/figures/temperature_fit.hpp"

namespace softcheck::experiments {

/// A model's data for the fit, and what is fitted to them.
struct TemperatureFit {
  std::string name;  // of the model, or "pooled"
  std::vector<FitSample> samples;
  /// 1/theta = a0 + a1 H + ... + a4 H^4, as in the paper.
  std::vector<double> quartic;
  /// 1/theta = a0 + a1 H. A bounded beta disperses like softmax (Lemma 2.1 with beta delta for delta), and a row's
  /// coefficients of at most n^(beta delta / ln n - 1) can stay away from 0 only if beta grows like ln n, which H does
  /// in a dispersed row (H >= ln n - delta). The line is the simplest form that does.
  std::vector<double> line;
};

/// throws   std::invalid_argument naming the model when it has too few samples
TemperatureFit fit_temperature(std::string name, std::vector<FitSample> samples);

/// All samples together.
TemperatureFit pooled_fit(const std::vector<TemperatureFit>& models);

/// The heads that are compared besides softmax and the published adaptive temperature: the pooled quartic and line,
/// each beta at least 1, and what no beta can exceed: the item of largest logit alone.
std::vector<Head> fitted_heads(const TemperatureFit& pooled);

/// Crowded sets (crowded_sets.hpp) of sizes 64, 256, 1024, 4096, 16384, and what softmax, the published adaptive
/// temperature and the fitted heads did with 32 of each.
struct CrowdedSize {
  int size = 0;
  std::vector<CrowdedMeasure> sets;
};
std::vector<CrowdedSize> measure_crowded_sizes(const Floats& parameters, std::uint64_t stream,
                                               const TemperatureFit& pooled);

/// What the fits are compared by, for each model: random sets, whose heads are softmax, published, then fitted_heads,
/// and crowded sets.
struct FitComparison {
  std::vector<std::vector<SizeMeasure>> models;
  std::vector<std::vector<CrowdedSize>> crowded;
};

/// Figure 6 and the comparison. Tables: the samples, the fits, random sets of every size, crowded sets.
Figure temperature_figure(const std::vector<TemperatureFit>& models, const TemperatureFit& pooled,
                          const FitComparison& comparison);

}  // namespace softcheck::experiments
