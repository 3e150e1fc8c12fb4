#pragma once

#include <vector>

namespace softcheck::proptests {

/// A number over the seeds of a training.
struct SeedSpread {
  double mean = 0;
  double deviation = 0;  // of a sample: divided by the seeds less one; NaN of one seed
  double least = 0, largest = 0;
};

/// values   at least one; added in their order
SeedSpread spread_of(const std::vector<double>& values);

}  // namespace softcheck::proptests
