// What cannot be judged is refused, with the tensor's name, what is needed and what was got.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

struct Refused {
  StoredTensor logits = stored(Format::f32, {3, 7}, std::vector<double>(21, 0.5));
  StoredTensor output = stored(Format::f32, {3, 7}, std::vector<double>(21, 1.0 / 7));
  TensorTask task{.op = Op::softmax, .inputs = {logits.held()}};

  std::string with(const std::vector<GivenTensor>& outputs) const {
    return refusal_of([&] { judge_tensors(task, contract_for(task, ""), outputs); });
  }
  std::string with_output(const StoredTensor& tensor) const { return with({tensor.held()}); }
};

TEST(TensorErrors, NameTheTensorTheNeedAndWhatWasGot) {
  Refused sample;
  EXPECT_EQ(sample.with_output(sample.output), "not refused");
  EXPECT_EQ(sample.with_output(stored(Format::f32, {3, 8}, {})), "output: need shape (3, 7), got (3, 8)");
  EXPECT_EQ(sample.with_output(stored(Format::f32, {21}, {})), "output: need shape (3, 7), got (21,)");
  EXPECT_EQ(sample.with_output(stored(Format::f16, {3, 7}, {})),
            "output: need dtype f32, as the contract has it, got f16");
  EXPECT_EQ(sample.with({}), "outputs: need one tensor, got 0 tensors");
  EXPECT_EQ(sample.with({sample.output.held(), sample.output.held()}), "outputs: need one tensor, got 2 tensors");
  GivenTensor nowhere = sample.output.held();
  nowhere.first = nullptr;
  EXPECT_EQ(sample.with({nowhere}), "output: need data for 21 elements, got NULL");
  sample.task.theta = 0;
  EXPECT_EQ(sample.with_output(sample.output), "theta: need a temperature in [2^-1000, 2^1000], got 0.000000");
  sample.task.theta = 2;
  sample.task.op = Op::adaptive_softmax;
  EXPECT_EQ(sample.with_output(sample.output), "theta: need 1, as adaptive_softmax has no temperature, got 2.000000");
}

TEST(TensorErrors, ATensorOfNoDimensionHasNoRow) {
  Refused sample;
  const StoredTensor scalar = stored(Format::f32, {}, {1});
  sample.task.inputs = {scalar.held()};
  EXPECT_EQ(sample.with_output(scalar), "logits: need shape (..., n), got ()");
}

TEST(TensorErrors, MasksAreBytesThatBroadcast) {
  Refused sample;
  const StoredTensor wrong = stored_mask({2, 7}, {});
  sample.task.inputs = {sample.logits.held(), wrong.held()};
  EXPECT_EQ(sample.with_output(sample.output), "mask: need a shape that broadcasts to (3, 7), got (2, 7)");
  sample.task.inputs = {sample.logits.held(), sample.logits.held()};
  EXPECT_EQ(sample.with_output(sample.output), "mask: need dtype uint8 or bool, got f32");
  sample.task.inputs = {wrong.held()};
  EXPECT_EQ(refusal_of([&] { contract_for(sample.task, ""); }),
            "logits: need dtype " + numerics::format_names() + ", got a mask of bytes");
}

TEST(TensorErrors, OfAttention) {
  const StoredTensor q = stored(Format::f32, {2, 4, 5, 3}, std::vector<double>(120, 0.5));
  const StoredTensor k = stored(Format::f32, {2, 2, 6, 3}, std::vector<double>(72, 0.5));
  const StoredTensor three = stored(Format::f32, {2, 3, 6, 3}, std::vector<double>(108, 0.5));
  const StoredTensor half = stored(Format::f16, {2, 2, 6, 3}, std::vector<double>(72, 0.5));
  const auto refused = [](const std::vector<GivenTensor>& inputs, std::size_t which = 0) {
    const TensorTask task{.op = Op::attention, .inputs = inputs};
    return refusal_of([&] { output_shape(task, which); });
  };
  EXPECT_EQ(refused({q.held(), k.held(), k.held()}), "not refused");
  EXPECT_EQ(refused({q.held(), k.held(), k.held()}, 3), "which: need an output from 0 to 2, got 3");
  EXPECT_EQ(refused({q.held(), k.held()}), "inputs: need q, k, v[, mask], got 2 tensors");
  EXPECT_EQ(refused({q.held(), three.held(), k.held()}), "k: need heads that divide q's 4, got 3");
  EXPECT_EQ(refused({q.held(), k.held(), half.held()}), "v: need dtype f32, as q has it, got f16");
  const StoredTensor flat = stored(Format::f32, {7}, std::vector<double>(7, 0.5));
  EXPECT_EQ(refused({flat.held(), k.held(), k.held()}),
            "q: need two to four dimensions (batch, heads, length, dim), got shape (7,)");
  const StoredTensor longer = stored(Format::f32, {2, 2, 7, 3}, std::vector<double>(84, 0.5));
  EXPECT_EQ(refused({q.held(), k.held(), longer.held()}),
            "v: need k's length 6, got shape (2, 2, 7, 3) (batch, heads, length, dim)");
}

TEST(TensorErrors, ADLTensorIsTakenAsItLies) {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  std::int64_t shape[] = {2, 3}, strides[] = {1, 2};
  DLTensor tensor{};
  tensor.data = numbers.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape;
  EXPECT_EQ(held_tensor(tensor, "x").strides, (Shape{3, 1}));
  tensor.strides = strides;
  tensor.byte_offset = 4;
  EXPECT_EQ(held_tensor(tensor, "x").strides, (Shape{1, 2}));
  EXPECT_EQ(held_tensor(tensor, "x").first, reinterpret_cast<const std::byte*>(numbers.data() + 1));
  EXPECT_EQ(held_tensor(tensor, "x").format, Format::f32);
  tensor.dtype = {6, 8, 1};
  EXPECT_EQ(held_tensor(tensor, "x").format, std::nullopt);
  tensor.dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(refusal_of([&] { held_tensor(tensor, "x"); }),
            "x: need dtype " + numerics::format_names() +
                ", int32, int64, uint8 or bool on the CPU, got float32 in lanes of 4");
  tensor.dtype = {kDLInt, 16, 1};
  EXPECT_EQ(refusal_of([&] { held_tensor(tensor, "x"); }),
            "x: need dtype " + numerics::format_names() + ", int32, int64, uint8 or bool on the CPU, got int16");
  tensor.dtype = {10, 8, 1};
  EXPECT_EQ(held_tensor(tensor, "x").format, Format::e4m3);
  for (const Format format : numerics::all_formats()) {
    const numerics::FormatProperties& p = numerics::properties(format);
    tensor.dtype = {static_cast<std::uint8_t>(p.dlpack_code), static_cast<std::uint8_t>(p.storage_bits), 1};
    if (p.storage_bits > 32) continue;
    EXPECT_EQ(held_tensor(tensor, "x").format, format) << p.name;
  }
  tensor.dtype = {kDLInt, 64, 1};
  EXPECT_EQ(held_tensor(tensor, "x").integer_bits, 64u);
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.data = nullptr;
  EXPECT_EQ(refusal_of([&] { held_tensor(tensor, "x"); }), "x: need data for 6 elements, got NULL");
  shape[0] = -1;
  EXPECT_EQ(refusal_of([&] { held_tensor(tensor, "x"); }), "x: need sizes >= 0, got shape (-1, 3)");
  tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(refusal_of([&] { held_tensor(tensor, "x"); }),
            "x: need a tensor in the CPU's memory, got one on device type 2");
}

}  // namespace
}  // namespace softcheck::proptests
