#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/evaluation.hpp"
#include "experiments/figures/attention_row.hpp"
#include "experiments/figures/crowded_sets.hpp"
#include "experiments/figures/gnuplot.hpp"

namespace softcheck::experiments {

/// The temperatures of Appendix F: 0.1, 0.2, ... 10. The paper's grid begins at 0, where softmax is not defined.
inline constexpr int theta_steps = 100;
constexpr double theta_at(int step) { return static_cast<double>(step) / 10; }  // step 1 ... theta_steps

/// The theta of the grid that gives the item its largest coefficient; the smallest one if several do.
///
/// logits   (n) finite     item   < n
double best_theta(std::span<const float> logits, std::size_t item);

/// A set on which the head attended to the wrong item: the values of softmax at theta = 1, and the best temperature.
struct FitSample {
  int size = 0;
  double entropy = 0;  // in nats
  double theta = 0;    // best for the item with the largest priority
};

struct FitOptions {
  std::uint64_t seed = 2;  // of the sets, which differ from an evaluation's
  std::vector<int> sizes{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  int sets = 4096;               // at most, of each size
  std::int64_t items = 1 << 18;  // at most, of each size
};

/// Appendix F's data: of random sets those where the item with the largest priority has not the largest logit.
std::vector<FitSample> fit_samples(const Floats& parameters, std::uint64_t stream, const FitOptions& options);

/// Coefficients of H^0 ... H^degree that fit 1/theta to H in least squares.
///
/// samples   more than degree, of more than degree different entropies
/// throws    std::invalid_argument when they are not
std::vector<double> fit_polynomial(std::span<const FitSample> samples, int degree);

/// The polynomial with these coefficients, constant first.
double polynomial(std::span<const double> coefficients, double x);

/// A model's data for the fit, and the fitted polynomials.
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

/// The heads that are compared with softmax and the published adaptive temperature: the pooled quartic and line, each
/// with beta at least 1, and the upper limit for any beta: only the item of largest logit.
std::vector<Head> fitted_heads(const TemperatureFit& pooled);

/// Crowded sets (crowded_sets.hpp) of sizes 64, 256, 1024, 4096, 16384, and the results of softmax, the published
/// adaptive temperature and the fitted heads on 32 of each.
struct CrowdedSize {
  int size = 0;
  std::vector<CrowdedMeasure> sets;
};
std::vector<CrowdedSize> measure_crowded_sizes(const Floats& parameters, std::uint64_t stream,
                                               const TemperatureFit& pooled);

/// The data that compare the fits, for each model: random sets, whose heads are softmax, published, then fitted_heads,
/// and crowded sets.
struct FitComparison {
  std::vector<std::vector<SizeMeasure>> models;
  std::vector<std::vector<CrowdedSize>> crowded;
};

/// Figure 6 and the comparison. Tables: the samples, the fits, random sets of every size, crowded sets.
Figure temperature_figure(const std::vector<TemperatureFit>& models, const TemperatureFit& pooled,
                          const FitComparison& comparison);

/// In tables and legends, in the order of the heads.
inline constexpr std::array compared_heads{"softmax", "published", "our quartic", "our line", "hard maximum"};

/// Figure 6: 1/theta against entropy.
///
/// counts   entropy, inverse theta, count of samples
Picture scatter_picture(const std::string& counts, const TemperatureFit& pooled, std::size_t models);

/// Accuracy, largest coefficient and entropy of the heads against the size of random sets, and accuracy on crowded
/// ones.
Picture sizes_picture(const std::string& sizes, const std::string& crowded);

/// Figure 5: the entropy of softmax_theta of 10 logits against theta. For a spread delta the logits lie in equal steps
/// from 0 to delta; spreads 1, 3, 10, 30, 100.
Figure entropy_of_temperature();

}  // namespace softcheck::experiments
