#pragma once

#include <string_view>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_trial.hpp"
#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// The prefix of these properties' names.
inline constexpr const char* kernel_suite = "Kernel";

/// A property of a row kernel, and how many cases of it are drawn.
struct KernelProperty {
  Property property;
  int cases;
};

/// Which properties to return: all, or only those that draw their cases, if the judgement already has the others from
/// another share, which also excuse the classes that no call has.
enum class PropertyShare { all, drawn };

/// The properties of a judgement, in the order in which they run. They call the trial.
std::vector<KernelProperty> kernel_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial, PropertyShare share = PropertyShare::all);

/// throws   std::invalid_argument unless the text is a case of the kernel's dtype that fits the buffers
void require_replayable(const KernelSubject& subject, std::string_view case_text);

}  // namespace softcheck::proptests
