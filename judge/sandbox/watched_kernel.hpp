#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/call/evidence.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// A claim on behaviour, and the number of times that the kernel broke it.
numerics::Certificate observed(const std::string& claim, CallDescription asked, std::size_t times);
numerics::Certificate observed(const std::string& claim, KernelEvidence evidence, std::size_t times);

/// The same numbers by their bits; all NaNs count as equal.
bool same_bits(std::span<const double> a, std::span<const double> b);

/// What a call asks for, as in "refused 3 calls with a mask".
struct CallKind {
  std::string words;
  /// The call differs from others only in lengths and numbers: the judge makes such calls again after any number of
  /// refusals.
  bool plain = false;
  /// The results that the call asks for. Where the kernel refuses every call for one of them, the report has one line
  /// for all kinds of calls that ask for it. Empty: this kind has a line of its own.
  std::string asks;

  CallKind(std::string words_, bool plain_ = false)  // NOLINT(google-explicit-constructor): words are a kind
      : words(std::move(words_)), plain(plain_) {}
  CallKind(const char* words_) : words(words_) {}  // NOLINT(google-explicit-constructor)
};

/// A kernel on trial, of any op. Judges for every call how it ended, counts refusals by the kind of call, and notes
/// observations that are no verdict.
class WatchedKernel {
 public:
  /// exempt   claims that the kernel is known to break
  /// must_accept  every call is inside the kernel's domain: a refusal breaks kernel.accepts
  WatchedKernel(const KernelSource& source, const KernelLimits& limits, std::set<std::string> exempt,
                bool must_accept = false);

  /// The claims of every call: kernel.returns, kernel.keeps_inputs, kernel.stays_inside, kernel.keeps_environment.
  static const std::vector<std::string>& claims();
  /// Those, and kernel.accepts where no call may be refused.
  std::vector<std::string> call_claims() const;

  /// Calls the kernel, and adds the certificates of claims(); no outputs unless the call was done. A kernel that hung
  /// once is not called again. After enough refusals of a kind of call, with none accepted, no more calls of it are
  /// made.
  ///
  /// asked    names the call; asked for only where a claim does not hold, since a thousand rows take long to write
  /// throws   Interrupted where limits.most_calls were made
  std::vector<std::vector<double>> call(const TensorCall& call, const CallKind& kind,
                                        const std::function<CallDescription()>& asked, Certificates& certificates);
  /// A note where the bits differ, and a certificate where they must not.
  void compare(std::span<const double> first, std::span<const double> second, bool required, const std::string& claim,
               const std::string& difference, const CallDescription& asked, Certificates& certificates);

  /// The next call is the first of a new process; false where the kernel has no process of its own.
  bool start_anew() { return kernel_.start_anew(); }
  /// From now on passed() is a copy of the last call; else it is null, as a call may have a million numbers.
  void keep_calls(bool keep) { keeps_calls_ = keep; }
  const std::shared_ptr<const TensorCall>& passed() const { return passed_; }

  bool exempts(const std::string& claim) const { return exempt_.contains(claim); }
  /// The certificates of the other claims; the results of exempt claims become notes.
  Certificates without_exempt(Certificates certificates);
  void note(const std::string& text) { notes_.insert(text); }
  std::vector<std::string> notes() const;
  /// A line for each kind of call that the kernel refused, or for each result that it never returns.
  std::vector<std::string> refusals() const;
  bool timed_out() const { return timed_out_; }
  const IsolatedKernel& kernel() const { return kernel_; }

 private:
  struct Answers {
    std::size_t accepted = 0;
    std::size_t refused = 0;
    std::string asks;
  };
  struct Together {
    std::size_t kinds = 0, accepted = 0, refused = 0;
  };
  std::map<std::string, Together> refused_together() const;

  IsolatedKernel kernel_;
  std::set<std::string> exempt_;
  bool must_accept_ = false;
  std::uint64_t most_calls_ = 0;
  bool timed_out_ = false;
  bool keeps_calls_ = false;
  std::shared_ptr<const TensorCall> passed_;
  std::set<std::string> notes_;
  std::map<std::string, Answers> answers_;  // by what was asked for
};

}  // namespace softcheck::proptests
