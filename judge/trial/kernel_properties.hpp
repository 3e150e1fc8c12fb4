#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_trial.hpp"
#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// The common beginning of these properties' names.
inline constexpr const char* kernel_suite = "Kernel";

/// A property of a kernel of the softmax family, and how many cases of it are drawn.
struct KernelProperty {
  Property property;
  int cases;
};

/// Which of these options' properties: all, or those that draw their cases, where other properties of the judgement
/// list all that the others of these would, and say which classes of calls are left out.
enum class PropertyShare { all, drawn };

/// The properties of a judgement, in the order they are run. They call trial.
std::vector<KernelProperty> kernel_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial, PropertyShare share = PropertyShare::all);

/// throws   std::invalid_argument unless the text is a case of the kernel's dtype whose size fits the buffers
void require_replayable(const KernelSubject& subject, std::string_view case_text);

}  // namespace softcheck::proptests
