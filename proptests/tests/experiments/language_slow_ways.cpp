// Other algorithms, search and definitions for the states of experiments/language/algorithms.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "proptests/tests/experiments/language_slow_text.hpp"

namespace softcheck::experiments {
namespace {

using namespace slow;

Expected slow_insertion_sort(const CallDescription& asked) {
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

Expected slow_bubble_sort(const CallDescription& asked) {
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

Expected slow_heapsort(const CallDescription& asked) {
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

Expected slow_minimum(const CallDescription& asked) {
  const Numbers key = asked.list("key");
  Expected expected;
  for (auto end = key.begin() + 1; end <= key.end(); ++end) {
    expected.states.push_back(one(static_cast<int>(std::min_element(key.begin(), end) - key.begin())));
    if (end == key.end()) break;
  }
  return expected;
}

Expected slow_binary_search(const CallDescription& asked) {
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

Expected slow_subarray(const CallDescription& asked) {
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

Expected slow_activities(const CallDescription& asked) {
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

Expected slow_lcs(const CallDescription& asked) {
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

Expected slow_matcher(const CallDescription& asked) {
  const std::size_t found = asked.word("text").find(asked.word("pattern"));
  EXPECT_NE(found, std::string::npos);
  Expected expected{{"0"}};
  for (std::size_t s = 1; s < found; ++s) expected.states.push_back(one(static_cast<int>(s)));
  expected.answer = one(static_cast<int>(found));
  return expected;
}

const std::map<std::string_view, Expected (*)(const CallDescription&)> slow_ways{
    {"activity_selector", slow_activities},
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

}  // namespace

SlowAnswer slow_answer(const std::string& algorithm, const std::string& question) {
  const Expected expected = slow_ways.at(algorithm)(CallDescription(question));
  return {expected.states.front(), written(expected), expected.answer.value_or(expected.states.back())};
}

}  // namespace softcheck::experiments
