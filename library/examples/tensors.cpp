// Judges an existing result, and prints it next to the exact values: c++ tensors.cpp $(pkg-config --cflags --libs
// softcheck)
#include <softcheck/softcheck.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

DLTensor tensor(float* data, std::array<std::int64_t, 2>& shape) {
  DLTensor result{};
  result.data = data;
  result.device = {kDLCPU, 0};
  result.ndim = 2;
  result.dtype = {kDLFloat, 32, 1};
  result.shape = shape.data();
  return result;
}

}  // namespace

// With an argument, the third probability is wrong.
int main(int argc, char**) {
  std::array<std::int64_t, 2> shape{1, 3};
  std::array<float, 3> logits{0.0F, 1.0F, 2.0F}, probabilities{};
  float sum = 0;
  for (int i = 0; i < 3; ++i) sum += probabilities[i] = std::exp(logits[i] - 2.0F);
  for (float& p : probabilities) p /= sum;
  if (argc > 1) probabilities[2] *= 1.00001F;

  const DLTensor in = tensor(logits.data(), shape);
  DLTensor out = tensor(probabilities.data(), shape);
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  softcheck_call call{};
  call.n_inputs = call.n_outputs = 1;
  call.inputs = inputs;
  call.outputs = outputs;
  call.theta = call.scale = 1;

  softcheck_options options{};
  options.size = sizeof options;
  options.op = "softmax";
  char* text = nullptr;
  const int status = softcheck_judge_tensors(&call, &options, &text);
  const std::unique_ptr<char, decltype(&softcheck_free)> report(text, &softcheck_free);
  std::printf("%s\n", report ? report.get() : "no report");

  std::array<double, 3> lower{}, upper{}, allowed{};
  if (softcheck_reference(&call, 0, &options, lower.data(), upper.data(), 3, nullptr) != SOFTCHECK_PASS ||
      softcheck_threshold(&call, 0, &options, allowed.data(), 3, nullptr) != SOFTCHECK_PASS) {
    return EXIT_FAILURE;
  }
  for (int i = 0; i < 3; ++i) {
    std::printf("%.9g  exact [%.17g, %.17g]  allowed %.3g\n", static_cast<double>(probabilities[i]), lower[i], upper[i],
                allowed[i]);
  }
  return status;
}
