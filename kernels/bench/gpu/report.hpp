#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels/bench/gpu/benchmarks.hpp"
#include "kernels/bench/gpu/correctness.hpp"
#include "kernels/bench/gpu/device.hpp"

namespace softcheck::kernels::gpu {

/// All results of a run, with its raw seconds. date: UTC, as 2026-11-22T04:00:00Z. Infinities and NaN become null.
nlohmann::json report(const Device& device, const std::string& date, const std::string& commit,
                      const std::vector<Comparison>& comparisons, const Benchmarks& benchmarks);

/// The file of a run's report: FOLDER/<date>-<device>.json, without characters that a file name should not have.
std::string file_name(const std::string& folder, const std::string& date, const std::string& device);

/// One line a kernel, and one for each comparison that does not hold.
std::string table(const std::vector<Comparison>& comparisons);
std::string table(const Benchmarks& benchmarks);

}  // namespace softcheck::kernels::gpu
