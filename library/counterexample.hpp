#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::library {

/// The failing case of a judgement as tensors, so that a program can run it; null if there is none.
nlohmann::ordered_json counterexample_of(const proptests::KernelSubject& subject,
                                         const proptests::KernelJudgement& judgement);

}  // namespace softcheck::library
