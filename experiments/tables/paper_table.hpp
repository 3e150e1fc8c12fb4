#pragma once

#include <array>
#include <optional>
#include <span>

namespace softcheck::experiments {

/// A column of the paper's Table 1: accuracy in percent over ten seeds.
struct PaperColumn {
  int size;
  double baseline;
  double adaptive;
  std::optional<double> p_value;  // if it is known here
};

/// The columns that are known here; 32, 2048 and 8192 are not.
inline constexpr std::array<PaperColumn, 8> paper_table{{
    {16, 98.6, 98.6, 0.4},
    {64, 94.3, 94.5, 0.002},
    {128, 89.7, 89.9, std::nullopt},
    {256, 81.3, 82.1, 2e-4},
    {512, 70.1, 72.5, std::nullopt},
    {1024, 53.8, 57.7, 1e-4},
    {4096, 22.6, 24.9, 0.02},
    {16384, 12.4, 14.0, 4e-3},
}};

/// The column of this size, or null.
constexpr const PaperColumn* paper_column(int size) {
  for (const PaperColumn& column : paper_table) {
    if (column.size == size) return &column;
  }
  return nullptr;
}

}  // namespace softcheck::experiments
