#include "judge/certification/certification.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "judge/certification/judge_question.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

// Bits of the intervals. The second precision decides values near their threshold that the first one leaves open.
constexpr std::array<unsigned, 2> precisions{100, 300};

Certification not_covered(const std::string& why) {
  return {Certification::Outcome::not_covered, "not covered by the extracted judge: " + why};
}

// A failed value that the judge's theorems may cover, and its row.
struct Accusation {
  const JudgedNumbers& row;
  const ReportedValue& value;
};

// Nothing if no theorem covers the failure, with the reason in `why`.
std::optional<Accusation> accusation_of(const KernelSubject& subject, const Certificate& certificate,
                                        std::string& why) {
  const KernelEvidence* evidence = evidence_of(certificate);
  why = outside_the_theorems(subject.op, subject.contract, 1);
  if (!why.empty()) return std::nullopt;
  if (certificate.claim != subject.op->claims[0]) {
    why = "it has no theorem about " + certificate.claim;
  } else if (evidence == nullptr || !evidence->value || !evidence->asked.numbers) {
    why = "there is no value of a row to judge";
  } else if (!std::isfinite(evidence->value->got)) {
    why = "its kernels return real numbers, and neither a NaN nor an infinity";
  } else if (const std::string outside =
                 outside_the_theorems(subject.op, subject.contract, evidence->asked.numbers->theta);
             !outside.empty()) {
    why = outside;
  } else {
    return Accusation{*evidence->asked.numbers, *evidence->value};
  }
  return std::nullopt;
}

// Is the value's threshold finite? After a possible overflow nothing is promised, and the theorems do not cover it.
bool is_promised(const KernelSubject& subject, const JudgedNumbers& row, std::size_t values, std::size_t item) {
  std::vector<double> allowed(values);
  granted_row(subject.op, subject.contract, row.logits, row.theta, allowed);
  return std::isfinite(allowed[item]);
}

}  // namespace

Certification certified(const KernelSubject& subject, const ExtractedJudge& judge, const Certificate& certificate) {
  std::string why;
  const std::optional<Accusation> accusation = accusation_of(subject, certificate, why);
  if (!accusation) return not_covered(why);
  const auto& [row, value] = *accusation;
  std::optional<double> logit;
  if (value.item) logit = row.logits.at(*value.item);
  if (logit && !std::isfinite(*logit)) return not_covered("a masked item is no item of its rows");
  if (!is_promised(subject, row, logit ? row.logits.size() : 1, value.item.value_or(0))) {
    return not_covered("something may overflow, of which its theorems know nothing");
  }
  try {
    JudgeNumbers numbers = judge_numbers(subject.contract, row.logits, row.theta);
    if (value.got != 0) numbers.result_loss -= numerics::flushing_excess(subject.contract);  // exact: no rounding
    const std::string contract = judge_contract_line(numbers);
    for (const unsigned bits : precisions) {
      const std::string question = contract + "\n" + judge_row_line(row.logits, row.theta, bits) + "\n" +
                                   judge_value_line(subject.op, logit, value.got) + "\n";
      const std::vector<bool> answers = judge.ask(question);
      if (answers.size() != 1)
        return not_covered("it gave " + std::to_string(answers.size()) + " answers to one question");
      if (answers[0]) return {Certification::Outcome::proved, "proved by the extracted judge"};
    }
  } catch (const JudgeUnavailable& error) {
    return not_covered(error.what());
  }
  // The theorems do not cover rules without a threshold, such as the sign of a zero.
  if (value.by_rule) return not_covered("the value lies within its threshold, and breaks a rule of another kind");
  return {Certification::Outcome::disagrees,
          "DISAGREEMENT: this judge says fail, the extracted judge does not say violated"};
}

CertificationSummary certify_failures(const KernelSubject& subject, const ExtractedJudge& judge,
                                      KernelJudgement& judgement) {
  CertificationSummary summary;
  std::map<std::string, Certification> known;
  const auto certify = [&](Certificate& certificate) {
    if (certificate.verdict != numerics::Verdict::violated) return;
    const KernelEvidence* evidence = evidence_of(certificate);
    const std::string key = certificate.claim + "\n" + certificate.witness;
    auto place = known.find(key);
    if (place == known.end()) {
      place = known.emplace(key, certified(subject, judge, certificate)).first;
      ++(place->second.outcome == Certification::Outcome::proved        ? summary.proved
         : place->second.outcome == Certification::Outcome::not_covered ? summary.not_covered
                                                                        : summary.disagreements);
    }
    if (evidence == nullptr) return;
    KernelEvidence noted = *evidence;
    noted.certification = place->second;
    certificate.evidence = std::make_shared<const KernelEvidence>(std::move(noted));
  };
  for (PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (Certificate& failed : property.outcome.counterexample->failed) certify(failed);
  }
  return summary;
}

std::string CertificationSummary::text() const {
  const auto of = [](std::size_t count, const char* what) { return std::to_string(count) + what; };
  std::string text = disagreements == 0 ? "" : of(disagreements, " in DISAGREEMENT with the extracted judge, ");
  if (proved + not_covered + disagreements == 0) return "nothing to certify: no claim failed";
  return text + of(proved, " proved by the extracted judge, ") + of(not_covered, " not covered by it");
}

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail_to_ask(const std::filesystem::path& program, const std::string& why) {
  throw JudgeUnavailable("the extracted judge '" + program.string() + "' " + why);
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, FileCloser>;

TemporaryFile file_of(const std::filesystem::path& program, const std::string& text) {
  TemporaryFile file(std::tmpfile());
  if (!file) fail_to_ask(program, std::string("has no file for its questions: ") + std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fflush(file.get()) != 0) fail_to_ask(program, "has no file for its questions");
  std::rewind(file.get());
  return file;
}

// Extracted functions recurse once per item of a row. While this object lives, new processes get a stack for rows of a
// million items.
class LargeStack {
 public:
  LargeStack() {
    if (::getrlimit(RLIMIT_STACK, &before_) != 0) return;
    rlimit large = before_;
    large.rlim_cur = std::max(before_.rlim_cur, std::min<rlim_t>(before_.rlim_max, rlim_t{1} << 30));
    ::setrlimit(RLIMIT_STACK, &large);
  }
  ~LargeStack() { ::setrlimit(RLIMIT_STACK, &before_); }
  LargeStack(const LargeStack&) = delete;
  LargeStack& operator=(const LargeStack&) = delete;

 private:
  rlimit before_{RLIM_INFINITY, RLIM_INFINITY};
};

struct Started {
  pid_t process;
  int answers;  // read end of its output
};

Started started(const std::filesystem::path& program, std::FILE* questions) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_ask(program, std::string("has no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(questions), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::string name = program.string();
  const std::array<char*, 2> arguments{const_cast<char*>(name.c_str()), nullptr};
  Started result{0, ends[0]};
  const LargeStack stack;
  const int error = ::posix_spawn(&result.process, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) return result;
  ::close(ends[0]);
  fail_to_ask(program, std::string("does not start: ") + std::strerror(error));
}

// The output until the process ends; nothing if an answer takes too long.
std::optional<std::string> printed_by(int answers, double seconds) {
  std::string text;
  std::array<char, 4096> buffer;
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Clock::time_point deadline = Clock::now() + patience;
  while (true) {
    pollfd ready{answers, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int found = ::poll(&ready, 1, left > 0 ? static_cast<int>(left) : 0);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    const ssize_t count = ::read(answers, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    deadline = Clock::now() + patience;
  }
}

}  // namespace

ExtractedJudge::ExtractedJudge(std::filesystem::path program, double seconds)
    : program_(std::move(program)), seconds_(seconds) {}

bool ExtractedJudge::exists() const { return ::access(program_.c_str(), X_OK) == 0; }

std::vector<bool> ExtractedJudge::ask(const std::string& lines) const {
  const TemporaryFile questions = file_of(program_, lines);
  const Started judge = started(program_, questions.get());
  const std::optional<std::string> text = printed_by(judge.answers, seconds_);
  ::close(judge.answers);
  if (!text) ::kill(judge.process, SIGKILL);
  int status = 0;
  while (::waitpid(judge.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text)
    fail_to_ask(program_, "took longer than " + std::to_string(static_cast<long>(seconds_)) + " s for one answer");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_to_ask(program_, "could not read a question");
  std::vector<bool> verdicts;
  std::istringstream words(*text);
  for (std::string word; words >> word;) {
    if (word != "violated" && word != "not_violated") fail_to_ask(program_, "answered '" + word + "'");
    verdicts.push_back(word == "violated");
  }
  return verdicts;
}

}  // namespace softcheck::proptests
