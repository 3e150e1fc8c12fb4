// jarvis_march: the convex hull of points with whole coordinates, so that no turn is decided by a rounding.
#include <cstdint>
#include <set>
#include <utility>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

AlgorithmInputs draw_points(int size, RandomWords& words) {
  AlgorithmInputs inputs;
  std::set<std::pair<int, int>> drawn;
  while (static_cast<int>(inputs.first.size()) < size) {
    const int x = below(words, symbol_count), y = below(words, symbol_count);
    if (!drawn.emplace(x, y).second) continue;
    inputs.first.push_back(x);
    inputs.second.push_back(y);
  }
  return inputs;
}

std::string points_text(const AlgorithmInputs& inputs) {
  return "x: " + listed(inputs.first) + ", y: " + listed(inputs.second);
}

struct Step {
  int x = 0, y = 0;
};

// Counterclockwise from the lowest point, the leftmost of equally low ones. A state is the number of the next corner;
// of points in line the farthest is a corner and no other.
Worked work_jarvis(const AlgorithmInputs& inputs) {
  const std::size_t n = inputs.first.size();
  const auto step = [&](std::size_t from, std::size_t to) {
    return Step{inputs.first[to] - inputs.first[from], inputs.second[to] - inputs.second[from]};
  };
  std::size_t start = 0;
  for (std::size_t i = 1; i < n; ++i) {
    const Step to = step(start, i);
    if (to.y < 0 || (to.y == 0 && to.x < 0)) start = i;
  }
  std::vector<int> in_hull(n);
  Worked worked{.states = {{symbol(static_cast<int>(start))}}};
  for (std::size_t corner = start;;) {
    in_hull[corner] = 1;
    std::size_t next = corner == 0 ? 1 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == corner || i == next) continue;
      const Step best = step(corner, next), other = step(corner, i);
      const int turn = best.x * other.y - best.y * other.x;
      const int farther = other.x * other.x + other.y * other.y - best.x * best.x - best.y * best.y;
      if (turn < 0 || (turn == 0 && farther > 0)) next = i;
    }
    if (next == start) break;
    corner = next;
    worked.states.emplace_back(1, symbol(static_cast<int>(corner)));
  }
  worked.answer = listed(in_hull);
  return worked;
}

}  // namespace

const Algorithm jarvis_march{"jarvis_march", "geometry", "in_hull", draw_points, points_text, work_jarvis};

}  // namespace softcheck::experiments
