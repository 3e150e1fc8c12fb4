/* Stands for somebody's kernel: what matters is how it is linked, not what it does. */
float softcheck_fast_math_sum(const float* values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}
