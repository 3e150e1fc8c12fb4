// Attention with the attributes of version 2 of a call, one head, d = 64, f32, causal, one thread: the times of calls
// with one attribute each, over that of the plain call, in turns. Counters: windows of 128 to 2048 keys, each with its
// share of the plain call's pairs of queries and keys, and the other attributes.
#include <benchmark/benchmark.h>

#include <array>

#include "kernels/bench/attention_heads.hpp"

namespace softcheck::kernels::bench {
namespace {

struct Attributed {
  std::int64_t window = 0;  // number of keys that a query sees, including its own; 0: all
  double softcap = 0;
  bool slopes = false, sinks = false, bias = false;
};

int call_attributed(softcheck_kernel kernel, Heads& h, const Attributed& of) {
  static std::vector<float> biases, of_heads{0.0625F};
  if (of.bias && biases.empty()) biases.assign(static_cast<std::size_t>(h.queries * h.n), 0.5F);
  HeadRows q(h.q), k(h.k), v(h.v), out(h.out), lse(h.lse, h.queries);
  CallTensor head(of_heads.data(), {1}), bias(biases.data(), {1, 1, h.queries, h.n});
  std::vector<const DLTensor*> inputs{q.get(), k.get(), v.get()};
  std::vector<std::uint32_t> roles{SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE};
  const auto add = [&](bool is_on, CallTensor& tensor, std::uint32_t role) {
    if (!is_on) return;
    inputs.push_back(tensor.get());
    roles.push_back(role);
  };
  add(of.sinks, head, SOFTCHECK_ROLE_SINKS);
  add(of.slopes, head, SOFTCHECK_ROLE_SLOPES);
  add(of.bias, bias, SOFTCHECK_ROLE_BIAS);
  DLTensor* outputs[] = {out.get(), lse.get()};
  softcheck_attributes attributes{};
  attributes.size = sizeof attributes;
  attributes.window_left_plus_1 = of.window;
  attributes.softcap = of.softcap;
  const softcheck_call_2 c =
      version_2_call(SOFTCHECK_OP_ATTENTION, inputs, roles.data(), attributes, outputs, Heads::scale, true);
  return kernel(&c.call);
}

// Pairs of a causal call with this window, in those of one without.
double share_of_pairs(std::int64_t n, std::int64_t window) {
  const auto all = static_cast<double>(n), seen = static_cast<double>(std::min(n, window));
  return (seen * (seen + 1) / 2 + (all - seen) * seen) / (all * (all + 1) / 2);
}

void attributes(benchmark::State& state) {
  const softcheck_kernel kernel = kernel_of("softcheck_cpu_kernels", "softcheck_attention");
  Heads h(state.range(0), state.range(0));
  if (kernel == nullptr || call_attributed(kernel, h, {}) != 0) {
    state.SkipWithError("not built here");
    return;
  }
  static constexpr std::array<std::int64_t, 3> windows{128, 512, 2048};
  std::vector<Attributed> calls{{}, {.softcap = 30}, {.slopes = true}, {.sinks = true}, {.bias = true}};
  for (const std::int64_t window : windows) calls.push_back({.window = window});
  std::vector<std::function<void()>> works;
  for (const Attributed& call : calls) works.emplace_back([&] { call_attributed(kernel, h, call); });
  const std::vector<double> s = interleaved_seconds(works, 5);
  for (auto _ : state) call_attributed(kernel, h, {});
  state.counters["softcap_to_plain"] = s[1] / s[0];
  state.counters["alibi_to_plain"] = s[2] / s[0];
  state.counters["sinks_to_plain"] = s[3] / s[0];
  state.counters["bias_to_plain"] = s[4] / s[0];
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::string window = "window_" + std::to_string(windows[i]);
    state.counters[window + "_to_plain"] = s[5 + i] / s[0];
    state.counters[window + "_of_pairs"] = share_of_pairs(h.n, windows[i]);
  }
}

BENCHMARK(attributes)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace softcheck::kernels::bench
