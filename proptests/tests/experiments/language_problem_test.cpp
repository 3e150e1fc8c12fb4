// The algorithms' texts against vectors worked by hand and against other, slower ways to the same states.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "experiments/language/characters.hpp"
#include "experiments/language/problem.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<int>;
using Rows = std::vector<Numbers>;

// 0 to 9, then A to Z, then a to z; -1 for what stands between them in ASCII.
int number_of(char symbol) {
  if (symbol >= '0' && symbol <= '9') return symbol - '0';
  if (symbol >= 'A' && symbol <= 'Z') return symbol - 'A' + 10;
  return symbol >= 'a' && symbol <= 'z' ? symbol - 'a' + 36 : -1;
}

// What a question says, read from its text alone.
class Asked {
 public:
  explicit Asked(const std::string& question) : line_(question.substr(question.find('\n') + 1)) {}

  std::string word(const std::string& name) const {
    const std::size_t begin = line_.find(name + ": ") + name.size() + 2;
    return line_.substr(begin, line_.find_first_of(",\n", begin) - begin);
  }
  int number(const std::string& name) const { return number_of(word(name).at(0)); }
  Numbers list(const std::string& name) const {
    Numbers numbers;
    for (const char symbol : within_brackets(name)) numbers.push_back(number_of(symbol));
    return numbers;
  }
  Numbers list_with_signs(const std::string& name) const {
    std::istringstream inside(within_brackets(name));
    Numbers numbers;
    for (int number = 0; inside >> number;) numbers.push_back(number);
    return numbers;
  }
  Rows matrix() const {
    std::istringstream inside(within_brackets("A"));
    Rows rows;
    for (std::string row; inside >> row;) {
      rows.emplace_back();
      for (const char symbol : row) rows.back().push_back(number_of(symbol));
    }
    return rows;
  }

 private:
  std::string within_brackets(const std::string& name) const {
    const std::size_t begin = line_.find(name + ": [") + name.size() + 3;
    return line_.substr(begin, line_.find(']', begin) - begin);
  }

  std::string line_;
};

std::string one(int number) {
  for (char symbol = '0'; symbol <= 'z'; ++symbol) {
    if (number_of(symbol) == number) return {symbol};
  }
  return "?";
}
std::string all(const Numbers& numbers) {
  std::string text = "[";
  for (const int number : numbers) text += one(number);
  return text + "]";
}
std::string pair(int a, int b) { return "(" + one(a) + ", " + one(b) + ")"; }

struct Expected {
  std::vector<std::string> states;         // all, first and last, too
  std::optional<std::string> answer = {};  // where it is not the last state
};

Expected slow_insertion_sort(const Asked& asked) {
  Expected expected;
  const Numbers key = asked.list("key");
  for (std::size_t sorted = 1; sorted <= key.size(); ++sorted) {
    Numbers state = key;
    std::multiset<int> front(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(sorted));
    std::ranges::copy(front, state.begin());
    expected.states.push_back(all(state));
  }
  return expected;
}

Expected slow_bubble_sort(const Asked& asked) {
  Numbers done, rest = asked.list("key");
  Expected expected{{all(rest)}};
  while (rest.size() > 1) {
    // The number that rises, and those that it leaves behind it.
    Numbers behind;
    int rising = rest.back();
    for (auto next = rest.rbegin() + 1; next != rest.rend(); ++next) {
      behind.insert(behind.begin(), std::max(rising, *next));
      rising = std::min(rising, *next);
    }
    done.push_back(rising);
    rest = behind;
    Numbers state = done;
    state.insert(state.end(), rest.begin(), rest.end());
    expected.states.push_back(all(state));
  }
  return expected;
}

// The textbook's recursion, places from 1 on.
void heapify(std::map<int, int>& heap, int i, int size) {
  int largest = i;
  for (const int child : {2 * i, 2 * i + 1}) {
    if (child <= size && heap[child] > heap[largest]) largest = child;
  }
  if (largest == i) return;
  std::swap(heap[i], heap[largest]);
  heapify(heap, largest, size);
}

Expected slow_heapsort(const Asked& asked) {
  std::map<int, int> heap;
  const Numbers key = asked.list("key");
  const int n = static_cast<int>(key.size());
  for (int i = 0; i < n; ++i) heap[i + 1] = key[static_cast<std::size_t>(i)];
  Expected expected;
  const auto show = [&] {
    Numbers state;
    for (int i = 1; i <= n; ++i) state.push_back(heap[i]);
    expected.states.push_back(all(state));
  };
  show();
  for (int i = n / 2; i >= 1; --i) heapify(heap, i, n);
  show();
  for (int i = n; i >= 2; --i) {
    std::swap(heap[1], heap[i]);
    heapify(heap, 1, i - 1);
    show();
  }
  return expected;
}

Expected slow_minimum(const Asked& asked) {
  const Numbers key = asked.list("key");
  Expected expected;
  for (auto end = key.begin() + 1; end <= key.end(); ++end) {
    expected.states.push_back(one(static_cast<int>(std::min_element(key.begin(), end) - key.begin())));
    if (end == key.end()) break;
  }
  return expected;
}

Expected slow_binary_search(const Asked& asked) {
  const Numbers key = asked.list("key");
  const int target = asked.number("target");
  Expected expected;
  const std::function<void(int, int)> search = [&](int low, int high) {
    expected.states.push_back(pair(low, high));
    if (low == high) return;
    const int middle = low + (high - low) / 2;
    key[static_cast<std::size_t>(middle)] < target ? search(middle + 1, high) : search(low, middle);
  };
  search(0, static_cast<int>(key.size()) - 1);
  const auto found = std::min(std::ranges::lower_bound(key, target), key.end() - 1) - key.begin();
  EXPECT_EQ(expected.states.back(), pair(static_cast<int>(found), static_cast<int>(found)));
  return expected;
}

Expected slow_subarray(const Asked& asked) {
  const Numbers key = asked.list_with_signs("key");
  Expected expected;
  std::optional<int> best;
  std::string shown;
  for (std::size_t high = 0; high < key.size(); ++high) {
    std::optional<int> here;
    std::size_t from = 0;
    for (std::size_t low = 0; low <= high; ++low) {
      const int sum = std::accumulate(key.begin() + static_cast<std::ptrdiff_t>(low),
                                      key.begin() + static_cast<std::ptrdiff_t>(high) + 1, 0);
      if (here && sum <= *here) continue;
      here = sum;
      from = low;
    }
    if (!best || *here > *best) {
      best = here;
      shown = pair(static_cast<int>(from), static_cast<int>(high));
    }
    expected.states.push_back(shown);
  }
  return expected;
}

Expected slow_activities(const Asked& asked) {
  const Numbers start = asked.list("s"), finish = asked.list("f");
  const std::size_t n = start.size();
  Numbers selected(n);
  Expected expected{{all(selected)}};
  int end = 0, count = 0;
  for (;;) {
    std::size_t next = n;
    for (std::size_t i = n; i-- > 0;) {
      if (selected[i] == 0 && start[i] >= end && (next == n || finish[i] <= finish[next])) next = i;
    }
    if (next == n) break;
    selected[next] = 1;
    end = finish[next];
    ++count;
    expected.states.push_back(all(selected));
  }
  // No choice of activities that do not overlap has more of them.
  for (unsigned chosen = 0; n <= 10 && chosen < 1U << n; ++chosen) {
    int size = 0;
    bool apart = true;
    for (std::size_t i = 0; i < n; ++i) {
      if ((chosen >> i & 1) == 0) continue;
      ++size;
      for (std::size_t j = 0; j < i; ++j) {
        if ((chosen >> j & 1) != 0) apart = apart && (start[i] >= finish[j] || start[j] >= finish[i]);
      }
    }
    EXPECT_TRUE(!apart || size <= count) << size;
  }
  return expected;
}

Expected slow_lcs(const Asked& asked) {
  const std::string x = asked.word("x"), y = asked.word("y");
  const auto is_part = [](const std::string& part, const std::string& whole) {
    std::size_t found = 0;
    for (const char letter : whole) found += found < part.size() && part[found] == letter ? 1 : 0;
    return found == part.size();
  };
  Expected expected;
  Numbers row;
  for (std::size_t i = 0; i <= x.size(); ++i) {
    row.clear();
    for (std::size_t j = 1; j <= y.size(); ++j) {
      int most = 0;
      for (unsigned chosen = 0; chosen < 1U << j; ++chosen) {
        std::string part;
        for (std::size_t k = 0; k < j; ++k) {
          if ((chosen >> k & 1) != 0) part += y[k];
        }
        if (is_part(part, x.substr(0, i))) most = std::max(most, static_cast<int>(part.size()));
      }
      row.push_back(most);
    }
    expected.states.push_back(all(row));
  }
  expected.answer = one(row.back());
  return expected;
}

Expected slow_matcher(const Asked& asked) {
  const std::size_t found = asked.word("text").find(asked.word("pattern"));
  EXPECT_NE(found, std::string::npos);
  Expected expected{{"0"}};
  for (std::size_t s = 1; s < found; ++s) expected.states.push_back(one(static_cast<int>(s)));
  expected.answer = one(static_cast<int>(found));
  return expected;
}

Expected slow_bfs(const Asked& asked) {
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

Expected slow_dfs(const Asked& asked) {
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

Expected slow_bellman_ford(const Asked& asked) {
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
Expected slow_hull(const Asked& asked) {
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

const std::map<std::string_view, Expected (*)(const Asked&)> slow_ways{{"activity_selector", slow_activities},
                                                                       {"bellman_ford", slow_bellman_ford},
                                                                       {"bfs", slow_bfs},
                                                                       {"binary_search", slow_binary_search},
                                                                       {"bubble_sort", slow_bubble_sort},
                                                                       {"dfs", slow_dfs},
                                                                       {"find_maximum_subarray", slow_subarray},
                                                                       {"heapsort", slow_heapsort},
                                                                       {"insertion_sort", slow_insertion_sort},
                                                                       {"jarvis_march", slow_hull},
                                                                       {"lcs_length", slow_lcs},
                                                                       {"minimum", slow_minimum},
                                                                       {"naive_string_matcher", slow_matcher}};

// The text that the states and the answer make.
std::string written(const Expected& expected) {
  std::string text;
  const std::size_t last = expected.states.size() - (expected.answer || expected.states.size() == 1 ? 0 : 1);
  for (std::size_t i = 1; i < last; ++i) text += (i == 1 ? "" : ", ") + expected.states[i];
  return text + " | " + expected.answer.value_or(expected.states.back()) + "\n\n";
}

TEST(LanguageProblems, EveryTraceIsThatOfASlowerWay) {
  ASSERT_EQ(slow_ways.size(), algorithms().size());
  RandomWords words(1);
  for (const Algorithm& algorithm : algorithms()) {
    for (int i = 0; i < 120; ++i) {
      const Problem problem = draw_problem(algorithm, 2 + i % 11, words);
      const Expected expected = slow_ways.at(algorithm.name)(Asked(problem.question));
      ASSERT_EQ(problem.response, written(expected)) << problem.question;
      EXPECT_THAT(problem.question, HasSubstr(", initial_trace: " + expected.states.front() + "\ntrace | "));
      EXPECT_EQ(problem.question.substr(problem.trace_begin, expected.states.front().size()), expected.states.front());
      const std::string answer = expected.answer.value_or(expected.states.back());
      EXPECT_EQ(problem.response.substr(problem.answer_begin), answer + "\n\n");
      EXPECT_EQ(text_of(ids_of(problem.question + problem.response)), problem.question + problem.response);
    }
  }
}

struct ByHand {
  std::string_view name;
  AlgorithmInputs inputs;
  std::string question, response;
};

// Worked on paper; B is 11, Z is 35, a is 36. bfs: 1 is next to 0 and 2, and 2 to 3. bellman_ford: 0 -> 1 costs 5,
// 0 -> 2 -> 1 costs 3.
const std::vector<ByHand>& by_hand() {
  static const std::vector<ByHand> all{
      {"insertion_sort",
       {.first = {36, 2, 61, 11}},
       "key: [a2zB], initial_trace: [a2zB]\ntrace | pred:\n",
       "[2azB], [2azB] | [2Baz]\n\n"},
      {"bubble_sort",
       {.first = {36, 2, 61, 11}},
       "key: [a2zB], initial_trace: [a2zB]\ntrace | pred:\n",
       "[2aBz], [2Baz] | [2Baz]\n\n"},
      {"heapsort",
       {.first = {36, 2, 61, 11}},
       "key: [a2zB], initial_trace: [a2zB]\ntrace | pred:\n",
       "[zBa2], [aB2z], [B2az] | [2Baz]\n\n"},
      {"minimum", {.first = {36, 2, 61, 2}}, "key: [a2z2], initial_trace: 0\ntrace | min:\n", "1, 1 | 1\n\n"},
      {"binary_search",
       {.first = {2, 11, 36, 61}, .single = 35},
       "key: [2Baz], target: Z, initial_trace: (0, 3)\ntrace | (low, high):\n",
       "(2, 3) | (2, 2)\n\n"},
      {"find_maximum_subarray",
       {.first = {-2, 3, -1, 4}},
       "key: [-2+3-1+4], initial_trace: (0, 0)\ntrace | (best_low, best_high):\n",
       "(1, 1), (1, 1) | (1, 3)\n\n"},
      {"activity_selector",
       {.first = {10, 0, 20, 5}, .second = {30, 20, 40, 61}},
       "s: [A0K5], f: [UKez], initial_trace: [0000]\ntrace | selected:\n",
       "[0100] | [0110]\n\n"},
      {"lcs_length",
       {.first = {0, 1}, .second = {1, 0}},
       "x: ab, y: ba, initial_trace: [00]\ntrace | length:\n",
       "[01], [11] | 1\n\n"},
      {"naive_string_matcher",
       {.first = {0, 1, 0, 2}, .second = {2}},
       "text: abac, pattern: c, initial_trace: 0\ntrace | s:\n",
       "1, 2 | 3\n\n"},
      {"bfs",
       {.single = 1, .matrix = {{0, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}}},
       "s: 1, A: [0100 1010 0101 0010], initial_trace: [0123]\ntrace | pi:\n",
       "[1113] | [1112]\n\n"},
      {"dfs",
       {.matrix = {{0, 0, 1}, {0, 0, 0}, {0, 1, 0}}},
       "A: [001 000 010], initial_trace: [012]\ntrace | pi:\n",
       "[010] | [020]\n\n"},
      {"bellman_ford",
       {.single = 0, .matrix = {{0, 5, 1}, {0, 0, 0}, {0, 2, 0}}},
       "s: 0, A: [051 000 020], initial_trace: [012]\ntrace | pi:\n",
       "[000] | [020]\n\n"},
      {"jarvis_march",
       {.first = {0, 5, 10, 5}, .second = {0, 1, 0, 9}},
       "x: [05A5], y: [0109], initial_trace: 0\ntrace | in_hull:\n",
       "2, 3 | [1011]\n\n"},
  };
  return all;
}

TEST(LanguageProblems, TheTextsAreThoseWorkedByHand) {
  std::set<std::string_view> names;
  for (const ByHand& one : by_hand()) {
    const Problem problem = pose(algorithm_named(one.name), one.inputs);
    EXPECT_EQ(problem.question, std::string(one.name) + ":\n" + one.question);
    EXPECT_EQ(problem.response, one.response);
    names.insert(one.name);
  }
  EXPECT_EQ(names.size(), algorithms().size());
}

// Where three points are in line, only the outer ones are corners.
TEST(LanguageProblems, APointInsideAnEdgeIsNoCorner) {
  const Problem problem = pose(algorithm_named("jarvis_march"), {.first = {0, 4, 8, 4}, .second = {0, 0, 0, 6}});
  EXPECT_EQ(problem.response, "2, 3 | [1011]\n\n");
}

TEST(LanguageProblems, ASeedFixesTheTexts) {
  const auto texts = [](std::uint64_t seed) {
    RandomWords words(seed);
    std::string all;
    for (int size = 4; size <= 32; size += 4) {
      for (const Algorithm& algorithm : algorithms()) {
        const Problem problem = draw_problem(algorithm, size, words);
        all += problem.question + problem.response;
      }
    }
    return sha256(all);
  };
  EXPECT_EQ(texts(7), texts(7));
  EXPECT_NE(texts(7), texts(8));
  // What the shipped models were trained on: another sum is another training set.
  EXPECT_EQ(texts(7), "ad951e8b544dc3737e2435ec7cd77197070f1d3fb5a5082b1dc1fadd9128957a");
}

TEST(LanguageProblems, BadNamesAndSizesAreNamed) {
  RandomWords words(1);
  EXPECT_THROW(algorithm_named("bogosort"), std::invalid_argument);
  EXPECT_THROW(draw_problem(algorithms()[0], 1, words), std::invalid_argument);
  EXPECT_THROW(draw_problem(algorithms()[0], 62, words), std::invalid_argument);
  EXPECT_THROW(ids_of("\t"), std::invalid_argument);
  EXPECT_THROW(text_of({character_count}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
