#include "kernels/bench/gpu/correctness.hpp"

#include <algorithm>
#include <deque>
#include <sstream>

#include "kernels/bench/gpu/kernels.hpp"

namespace softcheck::kernels::gpu {

std::string difference(const char* name, const HostTensor& judged, const HostTensor& reference) {
  const std::size_t size = size_of(judged.format());
  for (std::size_t i = 0; i < judged.count(); ++i) {
    if (std::memcmp(judged.bytes().data() + i * size, reference.bytes().data() + i * size, size) == 0) continue;
    const double x = judged.at(i), y = reference.at(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    std::ostringstream text;
    text << name << ", element " << i << ": " << std::hexfloat << x << ", not " << y;
    return text.str();
  }
  return {};
}

namespace {

using Tensors = std::vector<HostTensor*>;

/// Of the judged kernel and of the reference, named.
using Outputs = std::vector<std::pair<const char*, std::pair<HostTensor*, HostTensor*>>>;

Comparison compared(const Kernels& kernels, Format format, const std::string& problem, const Tensors& inputs,
                    const Outputs& outputs, double theta, double scale, bool causal) {
  Comparison found{kernels.name, to_string(format), kernels.reference_name, problem, false, {}};
  Tensors judged, reference;
  for (const auto& [name, tensors] : outputs) {
    judged.push_back(tensors.first);
    reference.push_back(tensors.second);
  }
  if (call_kernel(kernels.judged, inputs, judged, theta, scale, causal) != 0) {
    found.detail = "refused";
  } else if (call_kernel(kernels.reference, inputs, reference, theta, scale, causal) != 0) {
    found.detail = "refused by the reference";
  } else {
    for (const auto& [name, tensors] : outputs) {
      if (found.detail.empty()) found.detail = difference(name, *tensors.first, *tensors.second);
    }
    found.holds = found.detail.empty();
  }
  return found;
}

/// Results of a row: 0 of a kernel that gives one an item.
std::size_t row_results(const std::string& name) {
  if (name == "row_statistics") return 4;
  return name.ends_with("entropy") || name.ends_with("logsumexp") ? 1 : 0;
}

void compare_rows_of(const Kernels& kernels, Format format, std::int64_t n, double theta, bool masked,
                     std::vector<Comparison>& found) {
  const std::int64_t rows = 3;
  HostTensor logits(format, {rows, n}), mask({rows, n});
  fill_normal(logits, n % 2 == 0 ? 9 : 1, static_cast<unsigned>(n));
  fill_mask(mask, static_cast<unsigned>(n));
  // The last row has an infinity or a NaN.
  if (n > 5) logits.set(logits.count() - 2, n % 3 == 0 ? INFINITY : std::nan(""));
  const std::size_t of_row = row_results(kernels.name);
  const std::vector<std::int64_t> shape = of_row > 0 ? std::vector{rows} : std::vector{rows, n};
  const char* const names[] = {of_row > 1 ? "m" : "results", "S - 1", "T", "U"};
  std::deque<HostTensor> tensors;
  Outputs outputs;
  for (std::size_t i = 0; i < std::max<std::size_t>(of_row, 1); ++i) {
    HostTensor* judged = &tensors.emplace_back(format, shape);
    outputs.push_back({names[i], {judged, &tensors.emplace_back(format, shape)}});
  }
  Tensors inputs = {&logits};
  if (masked) inputs.push_back(&mask);
  const std::string problem = std::to_string(rows) + " x " + std::to_string(n) + ", theta " + std::to_string(theta) +
                              (masked ? ", masked" : "");
  found.push_back(compared(kernels, format, problem, inputs, outputs, theta, 1, false));
}

}  // namespace

void compare_rows(const Kernels& kernels, std::vector<Comparison>& found) {
  const std::string name = kernels.name;
  for (const Format format : formats) {
    for (const std::int64_t n : {1, 2, 3, 5, 127, 128, 129, 511, 512, 513, 1000, 4097, 70000}) {
      for (const double theta : {1.0, 0.7}) {
        if (theta != 1 && name.ends_with("adaptive_softmax")) continue;
        for (const bool masked : {false, true}) compare_rows_of(kernels, format, n, theta, masked, found);
      }
    }
  }
}

void compare_rows_backward(const Kernels& kernels, std::vector<Comparison>& found) {
  for (const Format format : formats) {
    for (const std::int64_t n : {1, 5, 128, 513, 1000, 4097}) {
      HostTensor logits(format, {3, n}), incoming(format, {3, n}), mask({3, n});
      fill_normal(logits, n % 2 == 0 ? 9 : 1, static_cast<unsigned>(n));
      fill_normal(incoming, 1, static_cast<unsigned>(n) + 1);
      fill_mask(mask, static_cast<unsigned>(n));
      HostTensor judged(format, {3, n}), reference(format, {3, n});
      found.push_back(compared(kernels, format, "3 x " + std::to_string(n) + ", masked", {&logits, &incoming, &mask},
                               {{"results", {&judged, &reference}}}, 1, 1, false));
    }
  }
}

namespace {

struct Shape {
  std::int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
  bool causal, masked;

  std::string text() const {
    std::ostringstream all;
    all << "q " << batch << " x " << heads << " x " << queries << " x " << dim << ", k and v " << key_heads
        << " heads x " << keys << ", values of " << value_dim << (causal ? ", causal" : "")
        << (masked ? ", masked" : "");
    return all.str();
  }
};

struct Inputs {
  Inputs(Format format, const Shape& s)
      : q(format, {s.batch, s.heads, s.queries, s.dim}),
        k(format, {s.batch, s.key_heads, s.keys, s.dim}),
        v(format, {s.batch, s.key_heads, s.keys, s.value_dim}),
        mask({s.batch, s.heads, s.queries, s.keys}) {
    fill_normal(q, 2, 1);
    fill_normal(k, 1, 2);
    fill_normal(v, 1, 3);
    fill_mask(mask, 4);
    // With a mask, the first query sees no key.
    for (std::int64_t j = 0; j < s.keys; ++j) mask.show(static_cast<std::size_t>(j), false);
  }
  Tensors all(bool masked) { return masked ? Tensors{&q, &k, &v, &mask} : Tensors{&q, &k, &v}; }

  HostTensor q, k, v, mask;
};

// Heads of every length, more queries and keys than a block takes at a time, both diagonals.
constexpr Shape attention_shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, false, false},  {1, 1, 1, 1, 3000, 64, 64, false, false},
    {2, 4, 2, 3, 130, 5, 7, false, true}, {1, 2, 1, 70, 150, 128, 128, true, true},
    {1, 1, 1, 9, 4, 16, 16, true, false}, {1, 2, 2, 130, 600, 33, 200, true, false},
};

/// Numbers of queries, each of the judged kernel and of the reference, named.
class RowPairs {
 public:
  RowPairs(Format format, const Shape& s, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const HostTensor rows(wide_of(format), {s.batch, s.heads, s.queries});
      all_.emplace_back(name, std::pair{rows, rows});
    }
  }
  void append_to(Outputs& outputs) {
    for (auto& [name, tensors] : all_) outputs.push_back({name, {&tensors.first, &tensors.second}});
  }

 private:
  std::vector<std::pair<const char*, std::pair<HostTensor, HostTensor>>> all_;
};

}  // namespace

void compare_attention(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores) {
  for (const Format format : formats) {
    for (const Shape& s : attention_shapes) {
      if (s.queries * s.keys > most_scores) continue;
      Inputs in(format, s);
      HostTensor judged(format, {s.batch, s.heads, s.queries, s.value_dim}), reference = judged;
      RowPairs rows(format, s, {"lse", "entropy", "largest score"});
      Outputs outputs = {{"out", {&judged, &reference}}};
      rows.append_to(outputs);
      found.push_back(compared(kernels, format, s.text(), in.all(s.masked), outputs, 1, 0.3, s.causal));
    }
  }
}

void compare_statistics(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores) {
  for (const Format format : formats) {
    for (const Shape& s : attention_shapes) {
      if (s.queries * s.keys > most_scores) continue;
      Inputs in(format, s);
      Tensors inputs = {&in.q, &in.k};
      if (s.masked) inputs.push_back(&in.mask);
      RowPairs rows(format, s, {"m", "S - 1", "T", "U"});
      Outputs outputs;
      rows.append_to(outputs);
      found.push_back(compared(kernels, format, s.text(), inputs, outputs, 1, 0.3, s.causal));
    }
  }
}

void compare_backward(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores) {
  for (const Format format : formats) {
    for (const Shape& s : attention_shapes) {
      if (s.queries * s.keys > most_scores) continue;
      Inputs in(format, s);
      HostTensor d_out(format, {s.batch, s.heads, s.queries, s.value_dim});
      fill_normal(d_out, 1, 5);
      Tensors inputs = {&in.q, &in.k, &in.v, &d_out};
      if (s.masked) inputs.push_back(&in.mask);
      HostTensor dq[2] = {in.q, in.q}, dk[2] = {in.k, in.k}, dv[2] = {in.v, in.v};
      found.push_back(compared(kernels, format, s.text(), inputs,
                               {{"dq", {&dq[0], &dq[1]}}, {"dk", {&dk[0], &dk[1]}}, {"dv", {&dv[0], &dv[1]}}}, 1, 0.3,
                               s.causal));
    }
  }
}

namespace {

/// Statistics of other scores: causal where the call is not.
template <softcheck_kernel kernel>
int other_diagonal(const softcheck_call* call) {
  softcheck_call other = *call;
  other.causal = call->causal == 0;
  return kernel(&other);
}

/// Planted: the statistics at another temperature.
int statistics_at_another_theta(const softcheck_call* call) {
  softcheck_call other = *call;
  other.theta *= 2;
  return softcheck_strict_row_statistics(&other);
}

/// Planted: the gradient of another loss.
int backward_of_the_logits(const softcheck_call* call) {
  const DLTensor* const inputs[] = {call->inputs[0], call->inputs[0], call->inputs[2]};
  softcheck_call other = *call;
  other.inputs = inputs;
  return softcheck_strict_adaptive_softmax_backward(&other);
}

}  // namespace

std::vector<Comparison> compare_on_the_emulator(bool planted) {
  std::vector<Comparison> found;
  compare_rows({"softmax", softcheck_strict_softmax,
                planted ? softcheck_strict_adaptive_softmax : softcheck_emulated_softmax, "emulated"},
               found);
  compare_rows({"row_statistics", softcheck_emulated_row_statistics,
                planted ? statistics_at_another_theta : softcheck_strict_row_statistics, "strict"},
               found);
  compare_rows_backward({"adaptive_softmax_backward", softcheck_emulated_adaptive_softmax_backward,
                         planted ? backward_of_the_logits : softcheck_strict_adaptive_softmax_backward, "strict"},
                        found);
  compare_attention({"split_attention", softcheck_emulated_split_attention,
                     planted ? softcheck_strict_attention : softcheck_strict_split_attention, "strict"},
                    found, 3000);
  compare_statistics(
      {"attention_statistics", softcheck_emulated_attention_statistics,
       planted ? other_diagonal<softcheck_strict_attention_statistics> : softcheck_strict_attention_statistics,
       "strict"},
      found, 3000);
  compare_backward(
      {"attention_backward", softcheck_emulated_attention_backward,
       planted ? softcheck_strict_adaptive_attention_backward : softcheck_strict_attention_backward, "strict"},
      found, 1000);
  compare_narrow_weights({"mma_attention", softcheck_emulated_mma_attention,
                          planted ? softcheck_strict_adaptive_attention : softcheck_strict_attention, "f64"},
                         false, found);
  compare_narrow_weights({"mma_adaptive_attention", softcheck_emulated_mma_adaptive_attention,
                          planted ? softcheck_strict_attention : softcheck_strict_adaptive_attention, "f64"},
                         true, found);
  compare_narrow_statistics({"mma_attention_statistics",
                             planted ? other_diagonal<softcheck_emulated_mma_attention_statistics>
                                     : softcheck_emulated_mma_attention_statistics,
                             nullptr, "f64"},
                            found);
  compare_packed({"packed split_attention", softcheck_emulated_split_attention_varlen,
                  planted ? softcheck_strict_attention : softcheck_strict_split_attention, "strict"},
                 {Format::f32}, Pass::forward, false, found);
  compare_packed(
      {"packed attention_backward", softcheck_emulated_attention_backward_varlen,
       planted ? softcheck_strict_adaptive_attention_backward : softcheck_strict_attention_backward, "strict"},
      {Format::bf16}, Pass::backward, false, found);
  return found;
}

std::vector<Comparison> compare_on_the_device() {
  std::vector<Comparison> found;
  compare_rows({"softmax", softcheck_cuda_softmax, softcheck_strict_softmax, "strict"}, found);
  compare_rows({"entropy", softcheck_cuda_entropy, softcheck_strict_entropy, "strict"}, found);
  compare_rows({"log_softmax", softcheck_cuda_log_softmax, softcheck_strict_log_softmax, "strict"}, found);
  compare_rows({"logsumexp", softcheck_cuda_logsumexp, softcheck_strict_logsumexp, "strict"}, found);
  compare_rows({"adaptive_softmax", softcheck_cuda_adaptive_softmax, softcheck_strict_adaptive_softmax, "strict"},
               found);
  compare_rows({"varentropy", softcheck_cuda_varentropy, softcheck_strict_varentropy, "strict"}, found);
  compare_rows({"row_statistics", softcheck_cuda_row_statistics, softcheck_strict_row_statistics, "strict"}, found);
  compare_rows_backward({"adaptive_softmax_backward", softcheck_cuda_adaptive_softmax_backward,
                         softcheck_strict_adaptive_softmax_backward, "strict"},
                        found);
  compare_attention({"attention", softcheck_cuda_attention, softcheck_strict_attention, "strict"}, found);
  compare_attention(
      {"adaptive_attention", softcheck_cuda_adaptive_attention, softcheck_strict_adaptive_attention, "strict"}, found);
  compare_attention({"split_attention", softcheck_cuda_split_attention, softcheck_strict_split_attention, "strict"},
                    found);
  compare_attention({"split_adaptive_attention", softcheck_cuda_split_adaptive_attention,
                     softcheck_strict_split_adaptive_attention, "strict"},
                    found);
  compare_statistics(
      {"attention_statistics", softcheck_cuda_attention_statistics, softcheck_strict_attention_statistics, "strict"},
      found);
  compare_backward(
      {"attention_backward", softcheck_cuda_attention_backward, softcheck_strict_attention_backward, "strict"}, found);
  compare_backward({"adaptive_attention_backward", softcheck_cuda_adaptive_attention_backward,
                    softcheck_strict_adaptive_attention_backward, "strict"},
                   found);
  compare_narrow_weights({"mma_attention", softcheck_cuda_mma_attention, softcheck_strict_attention, "f64"}, false,
                         found);
  compare_narrow_weights(
      {"mma_adaptive_attention", softcheck_cuda_mma_adaptive_attention, softcheck_strict_adaptive_attention, "f64"},
      true, found);
  compare_narrow_statistics({"mma_attention_statistics", softcheck_cuda_mma_attention_statistics, nullptr, "f64"},
                            found);
  const std::vector<Format> all(std::begin(formats), std::end(formats)), halves = {Format::f16, Format::bf16};
  compare_packed({"packed attention", softcheck_cuda_attention_varlen, softcheck_strict_attention, "strict"}, all,
                 Pass::forward, true, found);
  compare_packed({"packed adaptive_attention", softcheck_cuda_adaptive_attention_varlen,
                  softcheck_strict_adaptive_attention, "strict"},
                 all, Pass::forward, true, found);
  compare_packed(
      {"packed split_attention", softcheck_cuda_split_attention_varlen, softcheck_strict_split_attention, "strict"},
      all, Pass::forward, true, found);
  compare_packed({"packed split_adaptive_attention", softcheck_cuda_split_adaptive_attention_varlen,
                  softcheck_strict_split_adaptive_attention, "strict"},
                 all, Pass::forward, true, found);
  compare_packed({"packed attention_statistics", softcheck_cuda_attention_statistics_varlen,
                  softcheck_strict_attention_statistics, "strict"},
                 all, Pass::statistics, true, found);
  compare_packed({"packed attention_backward", softcheck_cuda_attention_backward_varlen,
                  softcheck_strict_attention_backward, "strict"},
                 all, Pass::backward, true, found);
  compare_packed({"packed adaptive_attention_backward", softcheck_cuda_adaptive_attention_backward_varlen,
                  softcheck_strict_adaptive_attention_backward, "strict"},
                 all, Pass::backward, true, found);
  compare_packed(
      {"packed mma_attention", softcheck_cuda_mma_attention_varlen, softcheck_cuda_mma_attention, "own call"}, halves,
      Pass::forward, true, found);
  compare_packed({"packed mma_adaptive_attention", softcheck_cuda_mma_adaptive_attention_varlen,
                  softcheck_cuda_mma_adaptive_attention, "own call"},
                 halves, Pass::forward, true, found);
  compare_packed({"packed mma_attention_statistics", softcheck_cuda_mma_attention_statistics_varlen,
                  softcheck_cuda_mma_attention_statistics, "own call"},
                 halves, Pass::statistics, true, found);
  return found;
}

}  // namespace softcheck::kernels::gpu
