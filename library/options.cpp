#include "library/options.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "judge/trial/kernel_claims.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::library {

using namespace proptests;

namespace {

// The size of the first version, which ended with context. Other sizes between two versions would cut a member in two.
constexpr std::size_t first_size = offsetof(softcheck_options, context) + sizeof(void*);
// The second version ended with after_fork.
constexpr std::size_t second_size = offsetof(softcheck_options, after_fork) + sizeof(softcheck_options{}.after_fork);
constexpr std::size_t third_size = offsetof(softcheck_options, max_calls) + sizeof(softcheck_options{}.max_calls);

[[noreturn]] void refuse(std::string_view option, std::string_view need, std::string_view got) {
  throw UsageError(std::string(option) + ": need " + std::string(need) + ", got '" + std::string(got) + "'");
}

// A parser's message without its own name of the option: "--op: need", "effort: need".
std::string without_option(std::string_view text, std::string_view option) {
  std::string_view rest = text.substr(text.starts_with("--") ? 2 : 0);
  if (!rest.starts_with(option) || !rest.substr(option.size()).starts_with(": ")) return std::string(text);
  return std::string(rest.substr(option.size() + 2));
}

// Runs a parser; its error becomes a UsageError that begins with the option.
template <class Function>
auto reading(std::string_view option, Function function) {
  try {
    return function();
  } catch (const numerics::ContractError& error) {
    throw UsageError(std::string(option) + ": " + error.problem);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string(option) + ": " + without_option(error.what(), option));
  }
}

numerics::Format dtype_of(std::string_view option, const char* text, numerics::Format otherwise) {
  if (text == nullptr || *text == '\0') return otherwise;
  if (const std::optional<numerics::Format> format = numerics::find_format(text)) return *format;
  refuse(option, numerics::format_names(), text);
}

numerics::Format output_of(const softcheck_options& options, Op op, numerics::Format input) {
  const numerics::Format usual = output_format(op, input), output = dtype_of("out_dtype", options.out_dtype, usual);
  if (output == usual || output == input) return output;
  refuse("out_dtype", std::string(numerics::properties(usual).name) + " or the inputs' dtype",
         text_of(options.out_dtype));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.size(), text.find_first_of(" ,", begin));
    words.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// 0 selects the default.
double positive(std::string_view option, double value, double otherwise) {
  if (value == 0) return otherwise;
  if (value > 0 && std::isfinite(value)) return value;
  refuse(option, "a number > 0, or 0 for the default", std::to_string(value));
}

Isolation isolation_of(const softcheck_options& options) {
  const std::string word = text_of(options.isolation);
  if (word.empty() || word == "full" || word == "none" || word == "elsewhere") return Isolation::full;
  if (word == "process") return Isolation::process;
  refuse("isolation", "full, process, none or elsewhere", word);
}

}  // namespace

softcheck_options options_of(const softcheck_options* given) {
  softcheck_options options{};
  options.size = sizeof options;
  if (given == nullptr) return options;
  std::string sizes;
  for (const std::size_t size : {first_size, second_size, third_size, sizeof options}) {
    sizes += (sizes.empty() ? "" : size == sizeof options ? " or " : ", ") + std::to_string(size);
    if (given->size != size) continue;
    std::memcpy(&options, given, given->size);
    return options;
  }
  throw UsageError("softcheck_options: need size = sizeof(softcheck_options), " + sizes + " in this version, got " +
                   std::to_string(given->size));
}

namespace {

// Asks the caller once for each shape.
template <class Number>
std::function<std::vector<Number>(const std::array<std::size_t, 4>&)> remembered(
    int (*fill)(void*, const std::int64_t*, Number*), void* context, std::string_view option) {
  if (fill == nullptr) return {};
  const auto known = std::make_shared<std::map<std::array<std::size_t, 4>, std::vector<Number>>>();
  return [=](const std::array<std::size_t, 4>& lengths) {
    const auto [found, is_new] = known->try_emplace(lengths);
    if (!is_new) return found->second;
    const std::array<std::int64_t, 4> given{
        static_cast<std::int64_t>(lengths[0]), static_cast<std::int64_t>(lengths[1]),
        static_cast<std::int64_t>(lengths[2]), static_cast<std::int64_t>(lengths[3])};
    found->second.resize(lengths[0] * lengths[1] * lengths[2] * lengths[3]);
    if (!found->second.empty() && fill(context, given.data(), found->second.data()) != 0) {
      throw UsageError(std::string(option) + ": need a function that returns 0, got another value");
    }
    return found->second;
  };
}

void add_fixed_terms(const softcheck_options& options, KernelSubject& subject) {
  if (options.fixed_mask == nullptr && options.fixed_bias == nullptr) return;
  const char* const option = options.fixed_mask != nullptr ? "fixed_mask" : "fixed_bias";
  if (!subject.op->is_attention() || !subject.op->attributes)
    refuse(option, "attention or attention_backward", to_string(subject.op));
  if (subject.domain.has_sequences()) refuse(option, "a domain without packed and pages", to_string(subject.domain));
  auto fixed = std::make_shared<FixedTerms>();
  fixed->mask = remembered(options.fixed_mask, options.context, "fixed_mask");
  fixed->bias = remembered(options.fixed_bias, options.context, "fixed_bias");
  subject.domain.no_mask |= options.fixed_mask != nullptr;
  subject.domain.fixed = std::move(fixed);
}

}  // namespace
std::string text_of(const char* text) { return text == nullptr ? "" : text; }

Op op_of(const softcheck_options& options) {
  const std::string name = text_of(options.op);
  return name.empty() ? Op::softmax : reading("op", [&] { return parse_op(name); });
}

std::set<std::string> exemptions_of(const softcheck_options& options, Op op) {
  return reading("exempt", [&] { return parse_exemptions(words_of(text_of(options.exempt)), op); });
}

KernelSubject subject_of(const softcheck_options& options) {
  KernelSubject subject;
  subject.op = op_of(options);
  const numerics::Format input = dtype_of("dtype", options.dtype, numerics::Format::f32);
  const numerics::Format output = output_of(options, subject.op, input);
  subject.contract =
      reading("contract", [&] { return numerics::parse_contract(text_of(options.contract), input, output); });
  subject.domain = reading("domain", [&] { return domain_of(text_of(options.domain), subject.op); });
  subject.required = reading("require", [&] { return parse_requirements(text_of(options.require)); });
  subject.exempt = exemptions_of(options, subject.op);
  add_fixed_terms(options, subject);
  if (const std::string refused = refused_place(subject.required, subject.op); !refused.empty()) {
    throw UsageError("require: " + refused);
  }
  return subject;
}

JudgeOptions judge_options_of(const softcheck_options& options) {
  const std::string effort = text_of(options.effort);
  JudgeOptions result =
      judge_options(effort.empty() ? Effort::normal : reading("effort", [&] { return parse_effort(effort); }));
  if (options.seed != 0) result.run.seed = options.seed;
  constexpr std::uint64_t most_cases = 10'000'000;  // as --cases allows
  if (options.cases > most_cases) refuse("cases", "at most 10000000", std::to_string(options.cases));
  if (options.cases != 0) result.run.cases = static_cast<int>(options.cases);
  if (options.max_length > RowOptions{}.max_length) {
    refuse("max_length", "at most " + std::to_string(RowOptions{}.max_length), std::to_string(options.max_length));
  }
  if (options.max_length != 0) result.max_length = options.max_length;
  result.limits.seconds_per_call = positive("time_limit", options.time_limit, result.limits.seconds_per_call);
  result.limits.seconds_to_load = positive("load_limit", options.load_limit, result.limits.seconds_to_load);
  const double gib = positive("memory_limit", options.memory_limit, 8);
  result.limits.additional_memory = static_cast<std::size_t>(std::ldexp(std::min(gib, 131072.0), 30));
  result.limits.isolation = isolation_of(options);
  if (options.budget != 0) {
    using Clock = std::chrono::steady_clock;
    const double seconds = std::min(positive("budget", options.budget, 0), 1e7);
    result.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  result.max_calls = options.max_calls;
  if (options.interrupted != nullptr) {
    result.interrupted = [ask = options.interrupted, context = options.context] { return ask(context) != 0; };
  }
  if (options.progress != nullptr) {
    result.progress = [tell = options.progress, context = options.context](const JudgeProgress& now) {
      tell(context, now.property.c_str(), now.done, now.cases, now.seconds);
    };
  }
  return result;
}

}  // namespace softcheck::library
