/* Judges a gradient of softmax in C with libsoftcheck, and exits with 0 if it keeps its contract. Its calls have
 * version 2, which names the op and the role of each input.
 *
 *   cc -std=c11 gradient.c -o gradient $(pkg-config --cflags --libs softcheck) && ./gradient
 */
#include <softcheck/softcheck.h>
#include <stdio.h>

/* Contiguous rows: no strides, or the strides of such rows. The stride of a dimension of one element does not matter.
 */
static int is_compact(const DLTensor* t) {
  return t->strides == NULL ||
         ((t->shape[1] < 2 || t->strides[1] == 1) && (t->shape[0] < 2 || t->strides[0] == t->shape[1]));
}

static float* first_of(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

/* dx = y (g - sum y g) on contiguous rows of f32; it refuses all other calls. */
static int my_softmax_backward(const softcheck_call* call, void* context) {
  (void)context;
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == NULL || whole->op != SOFTCHECK_OP_SOFTMAX_BACKWARD || call->n_inputs != 2) return 1;
  if (whole->input_roles[0] != SOFTCHECK_ROLE_SAVED || whole->input_roles[1] != SOFTCHECK_ROLE_OUT_GRADIENT) return 1;
  const DLTensor *saved = call->inputs[0], *upstream = call->inputs[1], *out = call->outputs[0];
  if (saved->dtype.code != kDLFloat || saved->dtype.bits != 32) return 1;
  if (!is_compact(saved) || !is_compact(upstream) || !is_compact(out)) return 1;
  const int64_t rows = saved->shape[0], n = saved->shape[1];
  const float *y = first_of(saved), *g = first_of(upstream);
  float* dx = first_of(out);
  for (int64_t r = 0; r < rows; ++r, y += n, g += n, dx += n) {
    float mean = 0;
    for (int64_t i = 0; i < n; ++i) mean += y[i] * g[i];
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (g[i] - mean);
  }
  return 0;
}

int main(void) {
  const softcheck_options options = {
      .size = sizeof options,
      .op = "softmax_backward",
      .dtype = "f32",
      .contract = "sum=sequential",
      .domain = "compact",
      .effort = "quick",
      .name = "my_softmax_backward",
  };
  char* report = NULL;
  const int status = softcheck_judge_function(my_softmax_backward, NULL, &options, &report);
  puts(status == SOFTCHECK_PASS ? "pass" : report != NULL ? report : "no report");
  softcheck_free(report);
  return status;
}
