// The algorithms' texts against vectors worked by hand and against other, slower ways to the same states.
#include <gmock/gmock.h>

#include <set>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/characters.hpp"
#include "experiments/sha256.hpp"
#include "proptests/tests/experiments/language_slow_text.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

TEST(LanguageProblems, EveryTraceIsThatOfASlowerWay) {
  RandomWords words(1);
  for (const Algorithm& algorithm : algorithms()) {
    for (int i = 0; i < 120; ++i) {
      const Problem problem = draw_problem(algorithm, 2 + i % 11, words);
      const SlowAnswer expected = slow_answer(std::string(algorithm.name), problem.question);
      ASSERT_EQ(problem.response, expected.response) << problem.question;
      EXPECT_THAT(problem.question, HasSubstr(", initial_trace: " + expected.first_state + "\ntrace | "));
      EXPECT_EQ(problem.question.substr(problem.trace_begin, expected.first_state.size()), expected.first_state);
      EXPECT_EQ(problem.response.substr(problem.answer_begin), expected.answer + "\n\n");
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
