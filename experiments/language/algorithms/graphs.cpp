// bfs, dfs, bellman_ford: each vertex's predecessor, itself where it has none.
#include <numeric>
#include <optional>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

constexpr int edges_of_ten = 3;
using Matrix = std::vector<std::vector<int>>;

// Each edge with a probability of three tenths, with a weight below heaviest + 1; none from a vertex to itself.
Matrix draw_graph(int size, bool directed, int heaviest, RandomWords& words) {
  const auto n = static_cast<std::size_t>(size);
  Matrix matrix(n, std::vector<int>(n));
  for (std::size_t u = 0; u < n; ++u) {
    for (std::size_t v = directed ? 0 : u + 1; v < n; ++v) {
      if (u == v || below(words, 10) >= edges_of_ten) continue;
      matrix[u][v] = 1 + below(words, heaviest);
      if (!directed) matrix[v][u] = matrix[u][v];
    }
  }
  return matrix;
}

std::vector<int> all_to_themselves(std::size_t n) {
  std::vector<int> places(n);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

std::string source_text(const AlgorithmInputs& inputs) {
  return std::string("s: ") + symbol(inputs.single) + ", A: " + listed_rows(inputs.matrix);
}

AlgorithmInputs draw_bfs(int size, RandomWords& words) {
  AlgorithmInputs inputs{.matrix = draw_graph(size, false, 1, words)};
  inputs.single = below(words, size);
  return inputs;
}

Worked without_last_state(Worked worked) {
  worked.answer = worked.states.back();
  if (worked.states.size() > 1) worked.states.pop_back();
  return worked;
}

// A state is the predecessors after each level. A vertex's is the first one of the level before it.
Worked work_bfs(const AlgorithmInputs& inputs) {
  const std::size_t n = inputs.matrix.size();
  std::vector<int> pi = all_to_themselves(n);
  std::vector<bool> reached(n);
  std::vector<std::size_t> level{static_cast<std::size_t>(inputs.single)};
  reached[level[0]] = true;
  Worked worked{.states = {listed(pi)}};
  for (;;) {
    std::vector<std::size_t> next;
    for (std::size_t v = 0; v < n; ++v) {
      for (const std::size_t u : level) {
        if (reached[v] || inputs.matrix[u][v] == 0) continue;
        reached[v] = true;
        pi[v] = static_cast<int>(u);
        next.push_back(v);
      }
    }
    if (next.empty()) return without_last_state(worked);
    level = next;
    worked.states.push_back(listed(pi));
  }
}

AlgorithmInputs draw_dfs(int size, RandomWords& words) { return {.matrix = draw_graph(size, true, 1, words)}; }

std::string graph_text(const AlgorithmInputs& inputs) { return "A: " + listed_rows(inputs.matrix); }

class DepthFirst {
 public:
  explicit DepthFirst(const Matrix& matrix)
      : matrix_(matrix), pi_(all_to_themselves(matrix.size())), seen_(matrix.size()) {}

  // A state is the list of predecessors after each vertex that is found from another one.
  Worked run() {
    worked_.states.push_back(listed(pi_));
    for (std::size_t u = 0; u < matrix_.size(); ++u) {
      if (!seen_[u]) visit(u);
    }
    return without_last_state(worked_);
  }

 private:
  void visit(std::size_t u) {
    seen_[u] = true;
    for (std::size_t v = 0; v < matrix_.size(); ++v) {
      if (matrix_[u][v] == 0 || seen_[v]) continue;
      pi_[v] = static_cast<int>(u);
      worked_.states.push_back(listed(pi_));
      visit(v);
    }
  }

  const Matrix& matrix_;
  std::vector<int> pi_;
  std::vector<bool> seen_;
  Worked worked_;
};

Worked work_dfs(const AlgorithmInputs& inputs) { return DepthFirst(inputs.matrix).run(); }

AlgorithmInputs draw_weighted(int size, RandomWords& words) {
  AlgorithmInputs inputs{.matrix = draw_graph(size, true, 9, words)};
  inputs.single = below(words, size);
  return inputs;
}

// A state is the predecessors after each round that changed one. A round relaxes all edges by the distances of the
// round before, in the order of their first vertices; only a shorter way counts.
Worked work_bellman_ford(const AlgorithmInputs& inputs) {
  const std::size_t n = inputs.matrix.size();
  std::vector<int> pi = all_to_themselves(n);
  std::vector<std::optional<int>> before(n);
  before[static_cast<std::size_t>(inputs.single)] = 0;
  Worked worked{.states = {listed(pi)}};
  for (;;) {
    std::vector<std::optional<int>> distance = before;
    for (std::size_t u = 0; u < n; ++u) {
      for (std::size_t v = 0; v < n; ++v) {
        const int weight = inputs.matrix[u][v];
        if (!before[u] || weight == 0 || (distance[v] && *distance[v] <= *before[u] + weight)) continue;
        distance[v] = *before[u] + weight;
        pi[v] = static_cast<int>(u);
      }
    }
    if (distance == before) return without_last_state(worked);
    before = distance;
    worked.states.push_back(listed(pi));
  }
}

}  // namespace

const Algorithm bfs{"bfs", "graphs", "pi", draw_bfs, source_text, work_bfs};
const Algorithm dfs{"dfs", "graphs", "pi", draw_dfs, graph_text, work_dfs};
const Algorithm bellman_ford{"bellman_ford", "graphs", "pi", draw_weighted, source_text, work_bellman_ford};

}  // namespace softcheck::experiments
