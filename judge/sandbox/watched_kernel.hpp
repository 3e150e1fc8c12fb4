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

/// The certificate of a claim on behaviour that the kernel broke this many times.
numerics::Certificate observed(const std::string& claim, CallDescription asked, std::size_t times);
numerics::Certificate observed(const std::string& claim, KernelEvidence evidence, std::size_t times);

/// Equal bit patterns; all NaNs count as equal.
bool same_bits(std::span<const double> a, std::span<const double> b);

/// The kind of a call, as in "refused 3 calls with a mask".
struct CallKind {
  std::string words;
  /// Differs from other calls only in lengths and numbers. The judge makes plain calls however many the kernel refuses.
  bool plain = false;
  /// The results that the call asks for. If the kernel refuses every call that asks for one of them, the report has one
  /// line for all those kinds of calls. Empty: this kind has its own line.
  std::string asks;

  CallKind(std::string words_, bool plain_ = false)  // NOLINT(google-explicit-constructor): words are a kind
      : words(std::move(words_)), plain(plain_) {}
  CallKind(const char* words_) : words(words_) {}  // NOLINT(google-explicit-constructor)
};

/// A kernel on trial, of any op. Certifies how every call ended, counts refusals per kind of call, and collects notes:
/// observations that are not judged.
class WatchedKernel {
 public:
  /// exempt        claims that the kernel is known to break
  /// must_accept   every call is inside the kernel's domain: a refusal breaks kernel.accepts
  WatchedKernel(const KernelSource& source, const KernelLimits& limits, std::set<std::string> exempt,
                bool must_accept = false);

  /// The claims of every call: kernel.returns, kernel.keeps_inputs, kernel.stays_inside, kernel.keeps_environment.
  static const std::vector<std::string>& claims();
  /// These, and kernel.accepts if every call must be accepted.
  std::vector<std::string> call_claims() const;

  /// Calls the kernel and adds the certificates of claims(). Returns no outputs unless the call was done. Makes no more
  /// calls after the kernel hung once, nor calls of a kind that the kernel refused enough times and never accepted.
  ///
  /// asked    describes the call; evaluated only if a claim fails, since a thousand rows take long to write
  /// throws   Interrupted after limits.most_calls calls
  std::vector<std::vector<double>> call(const TensorCall& call, const CallKind& kind,
                                        const std::function<CallDescription()>& asked, Certificates& certificates);
  /// Compares bit by bit. A difference is a failed certificate if `required`, else a note.
  void compare(std::span<const double> first, std::span<const double> second, bool required, const std::string& claim,
               const std::string& difference, const CallDescription& asked, Certificates& certificates);

  /// Starts a new process for the next call; false if the kernel has no process of its own.
  bool start_anew() { return kernel_.start_anew(); }
  /// With keep, passed() returns a copy of the last call; else null, since a call may have a million numbers.
  void keep_calls(bool keep) { keeps_calls_ = keep; }
  const std::shared_ptr<const TensorCall>& passed() const { return passed_; }

  bool exempts(const std::string& claim) const { return exempt_.contains(claim); }
  /// Removes the certificates of exempt claims; their results become notes.
  Certificates without_exempt(Certificates certificates);
  void note(const std::string& text) { notes_.insert(text); }
  std::vector<std::string> notes() const;
  /// One line per kind of call that the kernel refused, or per result that it never returns.
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
  std::map<std::string, Answers> answers_;  // by kind of call
};

}  // namespace softcheck::proptests
