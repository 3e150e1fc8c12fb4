// Slow ways of graphs and of the convex hull.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "proptests/tests/experiments/language_slow_text.hpp"

namespace softcheck::experiments::slow {
namespace {

// The shortest way of at most so many edges.
int shortest(const Rows& edges, std::size_t from, std::size_t to, int most,
             std::map<std::pair<std::size_t, int>, int>& known) {
  constexpr int none = 1 << 20;
  if (most == 0) return from == to ? 0 : none;
  const auto [place, is_new] = known.try_emplace({to, most}, none);
  if (!is_new) return place->second;
  int best = shortest(edges, from, to, most - 1, known);
  for (std::size_t u = 0; u < edges.size(); ++u) {
    if (edges[u][to] != 0) best = std::min(best, shortest(edges, from, u, most - 1, known) + edges[u][to]);
  }
  return known[{to, most}] = std::min(best, none);
}

}  // namespace

Expected slow_bfs(const CallDescription& asked) {
  const Rows edges = asked.matrix();
  const std::size_t n = edges.size(), far = n + 1;
  std::vector<std::vector<std::size_t>> way(n, std::vector<std::size_t>(n, far));
  for (std::size_t u = 0; u < n; ++u) {
    for (std::size_t v = 0; v < n; ++v) {
      EXPECT_EQ(edges[u][v], edges[v][u]);
      way[u][v] = u == v ? 0 : edges[u][v] != 0 ? 1 : far;
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t u = 0; u < n; ++u) {
      for (std::size_t v = 0; v < n; ++v) way[u][v] = std::min(way[u][v], way[u][k] + way[k][v]);
    }
  }
  const std::vector<std::size_t>& from = way[static_cast<std::size_t>(asked.number("s"))];
  Expected expected;
  for (std::size_t level = 0; std::ranges::count(from, level) > 0; ++level) {
    Numbers pi;
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t before = v;
      for (std::size_t u = n; u-- > 0 && from[v] >= 1 && from[v] <= level;) {
        if (from[u] + 1 == from[v] && edges[u][v] != 0) before = u;
      }
      pi.push_back(static_cast<int>(before));
    }
    expected.states.push_back(all(pi));
  }
  return expected;
}

Expected slow_dfs(const CallDescription& asked) {
  const Rows edges = asked.matrix();
  const int n = static_cast<int>(edges.size());
  Numbers pi(edges.size());
  std::iota(pi.begin(), pi.end(), 0);
  Expected expected{{all(pi)}};
  std::set<int> seen;
  for (int root = 0; root < n; ++root) {
    std::vector<int> path;
    if (seen.insert(root).second) path.push_back(root);
    while (!path.empty()) {
      int next = 0;
      while (next < n && (edges[static_cast<std::size_t>(path.back())][static_cast<std::size_t>(next)] == 0 ||
                          seen.contains(next))) {
        ++next;
      }
      if (next == n) {
        path.pop_back();
        continue;
      }
      pi[static_cast<std::size_t>(next)] = path.back();
      seen.insert(next);
      path.push_back(next);
      expected.states.push_back(all(pi));
    }
  }
  return expected;
}

Expected slow_bellman_ford(const CallDescription& asked) {
  const Rows edges = asked.matrix();
  const auto source = static_cast<std::size_t>(asked.number("s"));
  Numbers pi(edges.size());
  std::iota(pi.begin(), pi.end(), 0);
  Expected expected{{all(pi)}};
  std::map<std::pair<std::size_t, int>, int> known;
  for (int round = 1;; ++round) {
    bool changed = false;
    for (std::size_t v = 0; v < edges.size(); ++v) {
      const int length = shortest(edges, source, v, round, known);
      if (length == shortest(edges, source, v, round - 1, known)) continue;
      changed = true;
      for (std::size_t u = edges.size(); u-- > 0;) {
        if (edges[u][v] != 0 && shortest(edges, source, u, round - 1, known) + edges[u][v] == length) {
          pi[v] = static_cast<int>(u);
        }
      }
    }
    if (!changed) return expected;
    expected.states.push_back(all(pi));
  }
}

// Andrew's monotone chains, turned to begin with the lowest point.
Expected slow_hull(const CallDescription& asked) {
  const Numbers x = asked.list("x"), y = asked.list("y");
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(y[i], x[i]); });
  const auto half = [&](const std::vector<std::size_t>& points) {
    std::vector<std::size_t> chain;
    for (const std::size_t p : points) {
      const auto bends_left = [&] {
        const std::size_t a = chain[chain.size() - 2], b = chain.back();
        return (x[b] - x[a]) * (y[p] - y[b]) > (y[b] - y[a]) * (x[p] - x[b]);
      };
      while (chain.size() >= 2 && !bends_left()) chain.pop_back();
      chain.push_back(p);
    }
    chain.pop_back();
    return chain;
  };
  std::vector<std::size_t> hull = half(order);
  std::ranges::reverse(order);
  std::ranges::copy(half(order), std::back_inserter(hull));
  Expected expected;
  Numbers in_hull(x.size());
  for (const std::size_t corner : hull) {
    expected.states.push_back(one(static_cast<int>(corner)));
    in_hull[corner] = 1;
  }
  expected.answer = all(in_hull);
  return expected;
}

}  // namespace softcheck::experiments::slow
