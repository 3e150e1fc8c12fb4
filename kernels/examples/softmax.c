/* A kernel as a C programmer would plug it in: the loop is his, the glue is the function below it. */
#include <math.h>

#include "kernels/abi/softcheck_kernel.h"

static void softmax(const float* x, float* p, int64_t n, float scale) {
  float m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) m = isnan(x[i]) || x[i] > m ? x[i] : m;
  for (int64_t i = 0; i < n; ++i) sum += p[i] = expf((x[i] - m) * scale);
  for (int64_t i = 0; i < n; ++i) p[i] /= sum;
}

__attribute__((visibility("default"))) int example_softmax_c(const softcheck_call* call) {
  const DLTensor *in = call->inputs[0], *out = call->outputs[0];
  const DLDataType type = in->dtype;
  if (call->abi_version != 1 || call->n_inputs != 1 || type.code != kDLFloat || type.bits != 32) return 1;
  if (in->device.device_type != kDLCPU || in->strides || out->strides) return 1; /* compact tensors only */
  const float* x = (const float*)((const char*)in->data + in->byte_offset);
  float* p = (float*)((char*)out->data + out->byte_offset);
  const int64_t rows = in->shape[0], n = in->shape[1];
  for (int64_t r = 0; r < rows; ++r) softmax(x + r * n, p + r * n, n, (float)(1 / call->theta));
  return 0;
}
