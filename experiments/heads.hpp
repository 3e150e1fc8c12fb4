#pragma once

#include <span>
#include <string>

#include "experiments/evaluation.hpp"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {

/// All kinds, softmax first.
std::span<const HeadKind> head_kinds();

/// "softmax", "log-n", "top-k", ...
std::string to_string(HeadKind kind);

/// throws   std::invalid_argument naming the words that are known
HeadKind parse_head(const std::string& word);

/// For evaluate(): computed in double, rounded to float.
Head head_of(HeadKind kind);

}  // namespace softcheck::experiments
