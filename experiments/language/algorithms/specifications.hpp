#pragma once

#include <string>
#include <vector>

#include "experiments/language/algorithms/problem.hpp"

// The algorithms, and how they write numbers. The textbook is Cormen, Leiserson, Rivest and Stein, third edition.
namespace softcheck::experiments {

extern const Algorithm activity_selector, bellman_ford, bfs, binary_search, bubble_sort, dfs, find_maximum_subarray,
    heapsort, insertion_sort, jarvis_march, lcs_length, minimum, naive_string_matcher;

/// The symbols of the numbers 0 to 61: the digits, then A to Z, then a to z, as ASCII orders them.
inline constexpr int symbol_count = 62;
char symbol(int number);

/// "[0Zz]": a symbol for each number.
std::string listed(const std::vector<int>& numbers);
/// "[+7-3]": numbers from -9 to 9.
std::string listed_with_signs(const std::vector<int>& numbers);
/// "[010 100 000]": the rows of a matrix.
std::string listed_rows(const std::vector<std::vector<int>>& rows);
/// "abca": 0 is a.
std::string letters(const std::vector<int>& numbers);
/// "(3, a)".
std::string pair_of(int first, int second);

/// Uniform in {0, ..., bound - 1}.
int below(RandomWords& words, int bound);
std::vector<int> numbers_below(RandomWords& words, int count, int bound);

}  // namespace softcheck::experiments
