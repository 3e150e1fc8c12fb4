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

/// What the failing calls of attention have in common: another causality or another order of heads by which their
/// results are right, or a word of a domain that leaves all of them out. The report notes it as what to look at first;
/// it is no finding.
class AttentionHints {
 public:
  /// A call that was answered, or that did not return.
  void add(const AttentionCase& attention, bool failed);
  /// Of a call that failed: is it right as one of another causality, or of heads that take turns? Only the first few
  /// are asked.
  ///
  /// is_right   are the results those of this case, which is the call's but for its causality or its key heads?
  void ask(const AttentionCase& attention, const std::function<bool(const AttentionCase&)>& is_right);

  /// For the report's notes: the reading by which all that were asked are right; else the domain, of heads, causality
  /// and masks alone, that admits none of the calls that failed. None where nothing explains all of them.
  std::vector<std::string> lines(const KernelSubject& subject) const;

 private:
  std::string reading() const;
  std::string domain(const KernelSubject& subject) const;

  RefusalLog calls_;  // those that failed as refused
  std::size_t probed_ = 0;
  // By causality: none, from the last key, from the first one; and by interleaved heads.
  std::array<std::size_t, 4> right_{};
};

/// The call without one of its attributes, and that by name: "window=127:0", "softcap=0x1p+5", "sinks", "the mask".
struct RemovedAttribute {
  static constexpr const char *causality = "causality", *mask = "the mask", *groups = "grouped heads (domain group=1)";

  std::string name;
  AttentionCase without;
};

/// A call for each attribute that is on and that a call can lack by itself: window, top-left alignment, softcap, sinks,
/// ALiBi, bias, gradients by lse, causality, mask and grouped heads. Pages and packed sequences are the domain's: all
/// its calls have them. None of a call with a NaN or an infinity: what hides them is no attribute that a reader would
/// ask about.
std::vector<RemovedAttribute> without_each_attribute(const AttentionCase& attention);

}  // namespace softcheck::proptests
