// One training step of the max-retrieval network, compiled once for each instruction set. An inline function of Eigen's
// that two of them share would be linked once, and might be the one with instructions that this machine lacks: so each
// has an Eigen of its own name. A test looks for what they still share.
#define Eigen SOFTCHECK_TRAINING_EIGEN
#include "experiments/training_lanes.hpp"

#include "experiments/max_retrieval_pass.inl"

float SOFTCHECK_TRAINING_STEP(const float* parameters, int size, int count, const float* items, const float* queries,
                              const int* targets, float* gradient) {
  using namespace softcheck::experiments;
  thread_local Workspace<float> workspace;
  return loss_and_gradient(parameters, SetsView<float>{size, count, items, queries, targets}, gradient, workspace);
}
