// The network's stages, compiled once for each instruction set. The linker would keep only one copy of an inline
// function of Eigen that two of them share, possibly one with instructions that this machine lacks. So each includes
// Eigen under its own name. A test searches for functions that they still share.
#define Eigen SOFTCHECK_LANE_EIGEN
#include "experiments/network_lane.hpp"

#include "experiments/max_retrieval_pass.inl"

namespace softcheck::experiments {
namespace {

Workspace<float>& workspace() {
  thread_local Workspace<float> own;
  return own;
}

Eigen::Map<const Matrix<float>> columns(const float* values, int height, int count) { return {values, height, count}; }

float loss(const float* parameters, int size, int count, const float* items, const float* queries, const int* targets,
           int head, float* gradient) {
  const SetsView<float> sets{size, count, items, queries, targets, static_cast<HeadKind>(head)};
  return loss_and_gradient(parameters, sets, gradient, workspace());
}

void encode(const float* parameters, int count, const float* items, float* result) {
  encode_items(parameters, columns(items, item_features, count), workspace());
  Eigen::Map<Matrix<float>>(result, width, count) = workspace()[Place::encoded];
}

void fold(const float* parameters, int count, const float* queries, float* result, float* offsets) {
  Workspace<float>& w = workspace();
  fold_queries(parameters, columns(queries, 1, count), w);
  Eigen::Map<Matrix<float>>(result, width, count) = w[Place::folded];
  Eigen::Map<Vector<float>>(offsets, count).noalias() =
      w[Place::query].transpose() * biases_of(parameters, Layer::attention_key);
}

void score(const float* parameters, int count, const float* sums, float* result) {
  score_classes(parameters, columns(sums, width, count), workspace());
  Eigen::Map<Matrix<float>>(result, class_count, count) = workspace()[Place::scores];
}

}  // namespace
}  // namespace softcheck::experiments

extern "C" {
extern const softcheck_network_lane SOFTCHECK_LANE;
const softcheck_network_lane SOFTCHECK_LANE{SOFTCHECK_LANE_NAME, softcheck::experiments::loss,
                                            softcheck::experiments::encode, softcheck::experiments::fold,
                                            softcheck::experiments::score};
}
