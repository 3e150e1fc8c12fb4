#pragma once

#include <string>
#include <vector>

#include "experiments/language/problem.hpp"

// The algorithms, and how they write numbers. The textbook is Cormen, Leiserson, Rivest and Stein, third edition.
namespace softcheck::experiments {

extern const Algorithm activity_selector, bellman_ford, bfs, binary_search, bubble_sort, dfs, find_maximum_subarray,
    heapsort, insertion_sort, jarvis_march, lcs_length, minimum, naive_string_matcher;

/// "[07 42]": numbers below 100 in two digits.
std::string in_two_digits(const std::vector<int>& numbers);
/// "[7 -3]": numbers as they are.
std::string in_brackets(const std::vector<int>& numbers);
/// "[0110]": digits without anything between.
std::string digits(const std::vector<int>& numbers);
/// "[010 100 000]": the rows of a matrix of digits.
std::string digit_rows(const std::vector<std::vector<int>>& rows);
/// "abca": 0 is a.
std::string letters(const std::vector<int>& numbers);
/// "(3, 5)".
std::string pair_of(int first, int second);

/// Uniform in {0, ..., bound - 1}.
int below(RandomWords& words, int bound);
std::vector<int> numbers_below(RandomWords& words, int count, int bound);

}  // namespace softcheck::experiments
