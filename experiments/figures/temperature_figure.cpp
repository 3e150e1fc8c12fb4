#include "experiments/figures/temperature_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>

#include "experiments/tables/accuracy_table.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

constexpr int quartic_degree = 4;

std::string samples_csv(const std::vector<TemperatureFit>& models) {
  std::string text = "model,n,entropy,theta,inverse theta\n";
  for (const TemperatureFit& fit : models) {
    for (const FitSample& sample : fit.samples) {
      text += fmt::format("{},{},{:.9g},{:.1f},{:.9g}\n", fit.name, sample.size, sample.entropy, sample.theta,
                          1 / sample.theta);
    }
  }
  return text;
}

std::string coefficients_line(const std::string& name, const std::string& form, std::size_t samples,
                              std::vector<double> coefficients) {
  coefficients.resize(quartic_degree + 1);
  return fmt::format("{},{},{},{:.6g}\n", name, form, samples, fmt::join(coefficients, ","));
}

std::string fits_csv(const std::vector<TemperatureFit>& models, const TemperatureFit& pooled) {
  std::string text = "model,form,samples,H^0,H^1,H^2,H^3,H^4\n";
  std::vector<double> published;
  for (const int thousandths : theory::published_quartic) published.push_back(thousandths / 1000.0);
  text += coefficients_line("published", "quartic", 0, published);
  for (const auto form : {&TemperatureFit::quartic, &TemperatureFit::line}) {
    const char* const name = form == &TemperatureFit::quartic ? "quartic" : "line";
    text += coefficients_line(pooled.name, name, pooled.samples.size(), pooled.*form);
    for (const TemperatureFit& fit : models) {
      text += coefficients_line(fit.name, name, fit.samples.size(), fit.*form);
    }
  }
  return text;
}

// Where the published polynomial is at most 1 (theory/adaptive_temperature.hpp).
bool is_beyond(double entropy) { return entropy >= std::stod(theory::inactive_from); }

std::string sizes_csv(const FitComparison& comparison) {
  std::string text = "n,sets";
  for (const char* head : compared_heads) {
    text += fmt::format(",accuracy {0},half width {0},entropy {0},largest {0}", head);
  }
  text += ",percent beyond\n";
  const std::vector<SizeMeasure>& first = comparison.models.at(0);
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::size_t sets = 0, beyond = 0;
    for (const std::vector<SizeMeasure>& model : comparison.models) {
      sets += model[i].spreads.size();
      for (const HeadMeasure& set : model[i].heads[0]) beyond += is_beyond(set.entropy) ? 1 : 0;
    }
    text += fmt::format("{},{}", first[i].size, sets);
    for (std::size_t head = 0; head < compared_heads.size(); ++head) {
      const HeadSummary summary = summary_of(comparison.models, i, head);
      text += fmt::format(",{:.6g},{:.6g},{:.6g},{:.6g}", summary.accuracy.value, summary.accuracy.half_width,
                          summary.entropy.value, summary.largest.value);
    }
    text += fmt::format(",{:.6g}\n", 100.0 * static_cast<double>(beyond) / static_cast<double>(sets));
  }
  return text;
}

std::string crowded_csv(const FitComparison& comparison) {
  std::string text = "n,sets,percent ranked first,entropy";
  for (const char* head : compared_heads) text += fmt::format(",accuracy {0},coefficient {0}", head);
  text += "\n";
  for (std::size_t i = 0; i < comparison.crowded.at(0).size(); ++i) {
    double sets = 0, ranked = 0, entropy = 0;
    std::array<double, compared_heads.size()> correct{}, coefficient{};
    for (const std::vector<CrowdedSize>& model : comparison.crowded) {
      for (const CrowdedMeasure& set : model[i].sets) {
        sets += 1;
        ranked += set.ranked ? 1 : 0;
        entropy += set.entropy;
        for (std::size_t h = 0; h < compared_heads.size(); ++h) {
          correct[h] += set.heads.at(h).correct ? 1 : 0;
          coefficient[h] += set.heads[h].coefficient;
        }
      }
    }
    text +=
        fmt::format("{},{},{:.6g},{:.6g}", comparison.crowded[0][i].size, sets, 100 * ranked / sets, entropy / sets);
    for (std::size_t h = 0; h < compared_heads.size(); ++h) {
      text += fmt::format(",{:.6g},{:.6g}", 100 * correct[h] / sets, coefficient[h] / sets);
    }
    text += "\n";
  }
  return text;
}

// The number of samples with this (entropy, theta), the entropy to a twentieth: ten thousand single circles would hide
// each other.
std::string counts_csv(const std::vector<FitSample>& samples) {
  std::map<std::pair<int, double>, int> counts;
  for (const FitSample& sample : samples) ++counts[{static_cast<int>(20 * sample.entropy), sample.theta}];
  std::string text = "entropy,inverse theta,count\n";
  for (const auto& [place, count] : counts) {
    text += fmt::format("{},{:.9g},{}\n", (place.first + 0.5) / 20, 1 / place.second, count);
  }
  return text;
}

}  // namespace

TemperatureFit fit_temperature(std::string name, std::vector<FitSample> samples) {
  try {
    std::vector<double> quartic = fit_polynomial(samples, quartic_degree), line = fit_polynomial(samples, 1);
    return {std::move(name), std::move(samples), std::move(quartic), std::move(line)};
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + ": " + error.what());
  }
}

TemperatureFit pooled_fit(const std::vector<TemperatureFit>& models) {
  std::vector<FitSample> samples;
  for (const TemperatureFit& model : models) samples.insert(samples.end(), model.samples.begin(), model.samples.end());
  return fit_temperature("pooled", std::move(samples));
}

std::vector<Head> fitted_heads(const TemperatureFit& pooled) {
  const auto head = [](const char* name, const std::vector<double>& coefficients) {
    return head_of(name, [coefficients](double entropy) { return std::max(1.0, polynomial(coefficients, entropy)); });
  };
  const auto hard_maximum = [](std::span<const float> logits, float, std::span<float> coefficients) {
    std::ranges::fill(coefficients, 0.0F);
    coefficients[static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin())] = 1;
  };
  return {
      head(compared_heads[2], pooled.quartic), head(compared_heads[3], pooled.line), {compared_heads[4], hard_maximum}};
}

std::vector<CrowdedSize> measure_crowded_sizes(const Floats& parameters, std::uint64_t stream,
                                               const TemperatureFit& pooled) {
  std::vector<Head> heads{
      head_of(compared_heads[0], [](double) { return 1.0; }),
      head_of(compared_heads[1], [](double entropy) { return theory::inverse_temperature(entropy); })};
  std::ranges::move(fitted_heads(pooled), std::back_inserter(heads));
  std::vector<CrowdedSize> sizes;
  for (int size = 64; size <= 16384; size *= 4) {
    sizes.push_back({size, measure_crowded(parameters, stream, size, 32, heads)});
  }
  return sizes;
}

Figure temperature_figure(const std::vector<TemperatureFit>& models, const TemperatureFit& pooled,
                          const FitComparison& comparison) {
  const std::string sizes = sizes_csv(comparison), crowded = crowded_csv(comparison);
  return {{{"figure_6", samples_csv(models)},
           {"figure_6_fits", fits_csv(models, pooled)},
           {"figure_6_sizes", sizes},
           {"figure_6_crowded", crowded}},
          {scatter_picture(counts_csv(pooled.samples), pooled, models.size()), sizes_picture(sizes, crowded)}};
}

}  // namespace softcheck::experiments
