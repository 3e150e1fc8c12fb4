#include "judge/trial/class_order.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {

void order_by_new_classes(std::vector<RowMatrixCase>& matrices) {
  std::ranges::stable_sort(matrices, {}, [](const RowMatrixCase& matrix) { return size_of(matrix); });
  std::vector<std::vector<std::size_t>> classes;
  for (const RowMatrixCase& matrix : matrices) classes.push_back(classes_of(matrix));
  std::set<std::pair<std::size_t, std::size_t>> met;  // dimension and class
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto added = [&](const std::vector<std::size_t>& of) {
      std::size_t count = 0;
      for (std::size_t d = 0; d < of.size(); ++d) count += met.contains({d, of[d]}) ? 0 : 1;
      return count;
    };
    const auto from = static_cast<std::ptrdiff_t>(k);
    const auto best = std::ranges::max_element(classes.begin() + from, classes.end(), {}, added) - classes.begin();
    for (std::size_t d = 0; d < classes[static_cast<std::size_t>(best)].size(); ++d) {
      met.insert({d, classes[static_cast<std::size_t>(best)][d]});
    }
    // Rotating keeps the order of the others.
    std::rotate(matrices.begin() + from, matrices.begin() + best, matrices.begin() + best + 1);
    std::rotate(classes.begin() + from, classes.begin() + best, classes.begin() + best + 1);
  }
}

}  // namespace softcheck::proptests
