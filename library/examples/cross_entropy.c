/* Judges a cross-entropy in C with libsoftcheck, and exits with 0 if it keeps its contract. The loss takes label
 * smoothing and any ignore_index, but no z-loss, no softcap and no class weights; its domain declares that.
 *
 *   cc -std=c11 cross_entropy.c -o cross_entropy $(pkg-config --cflags --libs softcheck) -lm && ./cross_entropy
 */
#include <math.h>
#include <softcheck/softcheck.h>
#include <stdio.h>

static char* first_of(const DLTensor* t) { return (char*)t->data + t->byte_offset; }

/* Labels are int32 or int64. */
static int64_t label_at(const DLTensor* labels, int64_t row) {
  return labels->dtype.bits == 64 ? ((int64_t*)first_of(labels))[row] : ((int32_t*)first_of(labels))[row];
}

/* The loss of V contiguous logits. */
static float loss_of(const float* x, int64_t v, int64_t label, double smoothing) {
  float most = x[0], sum = 0, total = 0;
  for (int64_t i = 1; i < v; ++i) most = x[i] > most ? x[i] : most;
  for (int64_t i = 0; i < v; ++i) sum += expf(x[i] - most);
  const float log_sum = logf(sum);
  const float loss = log_sum - (x[label] - most);
  if (smoothing == 0) return loss;
  for (int64_t i = 0; i < v; ++i) total += log_sum - (x[i] - most);
  return (1 - (float)smoothing) * loss + (float)smoothing * (total / (float)v);
}

static int my_cross_entropy(const softcheck_call* call, void* context) {
  (void)context;
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == NULL || whole->op != SOFTCHECK_OP_CROSS_ENTROPY || call->n_inputs != 2) return 1;
  if (whole->input_roles[0] != SOFTCHECK_ROLE_LOGITS || whole->input_roles[1] != SOFTCHECK_ROLE_LABELS) return 1;
  const DLTensor *logits = call->inputs[0], *labels = call->inputs[1], *out = call->outputs[0];
  if (logits->dtype.code != kDLFloat || logits->dtype.bits != 32 || labels->dtype.code != kDLInt) return 1;
  if (whole->attributes->z_loss != 0 || whole->attributes->softcap != 0) return 1;
  const int64_t rows = logits->shape[0], v = logits->shape[1];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t label = label_at(labels, r);
    const int ignored = label == whole->attributes->ignore_index;
    const float* x = (const float*)first_of(logits) + r * v;
    ((float*)first_of(out))[r] = ignored ? 0 : loss_of(x, v, label, whole->attributes->label_smoothing);
  }
  return 0;
}

int main(void) {
  const softcheck_options options = {
      .size = sizeof options,
      .op = "cross_entropy",
      .dtype = "f32",
      .contract = "exp=1ulp sum=sequential",
      .domain = "compact nozloss nosoftcap noweights",
      .effort = "quick",
      .name = "my_cross_entropy",
  };
  char* report = NULL;
  const int status = softcheck_judge_function(my_cross_entropy, NULL, &options, &report);
  puts(status == SOFTCHECK_PASS ? "pass" : report != NULL ? report : "no report");
  softcheck_free(report);
  return status;
}
