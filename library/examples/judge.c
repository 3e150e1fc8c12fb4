/* Judges a softmax in C with libsoftcheck, and exits with 0 if it keeps its contract.
 *
 *   cc -std=c11 judge.c -o judge $(pkg-config --cflags --libs softcheck) -lm && ./judge
 */
#include <math.h>
#include <softcheck/softcheck.h>
#include <stdio.h>

/* Contiguous rows: no strides, or the strides of such rows. The stride of a dimension of one element does not matter.
 */
static int is_compact(const DLTensor* t) {
  return t->strides == NULL ||
         ((t->shape[1] < 2 || t->strides[1] == 1) && (t->shape[0] < 2 || t->strides[0] == t->shape[1]));
}

/* Takes contiguous rows of f32, and refuses all other calls; the domain below declares that. */
static int my_softmax(const softcheck_call* call, void* context) {
  (void)context;
  const DLTensor* in = call->inputs[0];
  const DLTensor* out = call->outputs[0];
  if (call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->n_inputs != 1 || call->theta != 1) return 1;
  if (in->dtype.code != kDLFloat || in->dtype.bits != 32 || !is_compact(in) || !is_compact(out)) return 1;
  const int64_t rows = in->shape[0], n = in->shape[1];
  const float* x = (const float*)((const char*)in->data + in->byte_offset);
  float* p = (float*)((char*)out->data + out->byte_offset);
  for (int64_t r = 0; r < rows; ++r, x += n, p += n) {
    float maximum = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) maximum = x[i] > maximum || isnan(x[i]) ? x[i] : maximum;
    for (int64_t i = 0; i < n; ++i) sum += p[i] = expf(x[i] - maximum);
    for (int64_t i = 0; i < n; ++i) p[i] /= sum;
  }
  return 0;
}

int main(void) {
  const softcheck_options options = {
      .size = sizeof options,
      .op = "softmax",
      .dtype = "f32",
      .contract = "exp=1ulp sum=sequential",
      .domain = "theta=1 nomask compact",
      .effort = "quick",
      .name = "my_softmax",
  };
  char* report = NULL;
  const int status = softcheck_judge_function(my_softmax, NULL, &options, &report);
  puts(status == SOFTCHECK_PASS ? "pass" : report != NULL ? report : "no report");
  softcheck_free(report);
  return status;
}
