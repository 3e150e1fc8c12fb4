#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "judge/call/refusals.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Looks for what the failing calls of attention have in common: another causality, order of heads, scale or mask by
/// which their results are right, or a domain word that excludes all of them. The report notes it as the first thing to
/// look at; it is not a finding.
class AttentionHints {
 public:
  static constexpr std::size_t reading_count = 9;

  /// Records a call and whether it failed.
  void add(const AttentionCase& attention, bool failed);
  /// Tests whether a failing call is right as another one. Only the first few calls are tested.
  ///
  /// is_right   are the results those of the given case, which differs from the call in causality, key heads, scale or
  ///            mask?
  void ask(const AttentionCase& attention, const std::function<bool(const AttentionCase&)>& is_right);

  /// For the report's notes: the reading by which all tested calls are right; else the domain of heads, causality and
  /// masks that excludes all failing calls, or the number of keys up to which no call fails. Empty if nothing explains
  /// all of them.
  std::vector<std::string> lines(const KernelSubject& subject) const;

 private:
  std::string reading() const;
  std::string domain(const KernelSubject& subject) const;
  std::string block(Op op) const;

  RefusalLog calls_;  // records failing calls as refused
  std::size_t probed_ = 0;
  std::array<std::size_t, reading_count> right_{};
};

/// The call without one of its attributes, and the attribute's name: "window=127:0", "softcap=0x1p+5", "sinks", "the
/// mask".
struct RemovedAttribute {
  static constexpr const char *causality = "causality", *mask = "the mask", *groups = "grouped heads (domain group=1)";

  std::string name;
  AttentionCase without;
};

/// One call for each attribute that is on and that can be removed alone: window, top-left alignment, softcap, sinks,
/// ALiBi, bias, gradients by lse, causality, mask and grouped heads. Pages and packed sequences belong to the domain:
/// all of its calls have them. Empty for a call with a NaN or an infinity, because removing an attribute may expose it.
std::vector<RemovedAttribute> without_each_attribute(const AttentionCase& attention);

}  // namespace softcheck::proptests
