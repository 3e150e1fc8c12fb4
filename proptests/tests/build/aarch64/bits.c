/* bits LIBRARY PREFIX: one line for each kernel, format and length, a hash of the bits of its results, so that two
 * machines' builds of a library can be compared. The logits are integers of a generator: no library function has made
 * them. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/abi/softcheck_kernel.h"

static uint64_t state = 20241001;

static uint32_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

struct format {
  const char* name;
  uint8_t code, bits;
};
static const struct format formats[] = {
    {"f32", kDLFloat, 32}, {"f64", kDLFloat, 64}, {"f16", kDLFloat, 16}, {"bf16", kDLBfloat, 16}};

/* Finite, of either sign, from 2^-4 to 2^4. */
static void fill(const struct format* format, size_t count, void* data) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t sign = draw() & 1, exponent = draw() % 8, fraction = draw();
    if (format->bits == 64) {
      const uint64_t bits = (uint64_t)sign << 63 | (uint64_t)(1019 + exponent) << 52 | (uint64_t)fraction << 21;
      memcpy((char*)data + 8 * i, &bits, 8);
    } else if (format->bits == 32) {
      const uint32_t bits = sign << 31 | (123 + exponent) << 23 | (fraction & 0x7fffff);
      memcpy((char*)data + 4 * i, &bits, 4);
    } else {
      const uint32_t bfloat = format->code == kDLBfloat;
      const uint16_t bits = (uint16_t)(sign << 15 | (bfloat ? (123 + exponent) << 7 | (fraction & 0x7f)
                                                            : (11 + exponent) << 10 | (fraction & 0x3ff)));
      memcpy((char*)data + 2 * i, &bits, 2);
    }
  }
}

static DLTensor tensor_of(const struct format* format, void* data, int dimensions, int64_t* shape) {
  const DLTensor tensor = {.data = data,
                           .device = {kDLCPU, 0},
                           .ndim = dimensions,
                           .dtype = {format->code, format->bits, 1},
                           .shape = shape};
  return tensor;
}

/* Of a call with these inputs: prints the hash of its result; 1 where it is refused. */
static int print_bits(void* library, const char* prefix, const char* op, const struct format* format, int64_t n,
                      softcheck_call call, DLTensor* output, size_t bytes) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "%s_%s", prefix, op);
  softcheck_kernel kernel;
  *(void**)&kernel = dlsym(library, symbol);
  if (kernel == NULL) return fprintf(stderr, "no %s\n", symbol), 1;
  call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  call.n_outputs = 1;
  call.outputs = &output;
  memset(output->data, 0, bytes);
  const int refused = kernel(&call);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((unsigned char*)output->data)[i]) * 1099511628211u;
  printf("%s %s n=%lld %016llx\n", symbol, format->name, (long long)n, (unsigned long long)hash);
  if (refused) fprintf(stderr, "%s refuses %s, n=%lld\n", symbol, format->name, (long long)n);
  return refused != 0;
}

static int rows(void* library, const char* prefix, const struct format* format, int64_t n) {
  static const char* const ops[] = {"softmax", "log_softmax", "adaptive_softmax", "logsumexp", "entropy"};
  const int64_t count = 3;
  int64_t shape[] = {count, n};
  const size_t bytes = (size_t)(count * n) * format->bits / 8;
  void* x = malloc(bytes);
  void* y = malloc(bytes < 64 ? 64 : bytes);
  fill(format, (size_t)(count * n), x);
  const DLTensor in = tensor_of(format, x, 2, shape);
  const DLTensor* inputs[] = {&in};
  softcheck_call call = {.n_inputs = 1, .inputs = inputs, .scale = 1};
  int failed = 0;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    const int of_items = i < 3;
    call.theta = strcmp(ops[i], "adaptive_softmax") == 0 ? 1 : 0.75;
    DLTensor out = tensor_of(format, y, of_items ? 2 : 1, shape);
    failed |=
        print_bits(library, prefix, ops[i], format, n, call, &out, of_items ? bytes : (size_t)count * format->bits / 8);
  }
  free(x);
  free(y);
  return failed;
}

static int attention(void* library, const char* prefix, const struct format* format, int64_t keys, int causal) {
  const int64_t heads = 2, queries = 19, size = 24;
  int64_t of_queries[] = {1, heads, queries, size}, of_keys[] = {1, heads, keys, size};
  const size_t q_count = (size_t)(heads * queries * size), k_count = (size_t)(heads * keys * size),
               width = format->bits / 8;
  char *q = malloc(q_count * width), *k = malloc(k_count * width), *v = malloc(k_count * width),
       *o = malloc(q_count * width);
  fill(format, q_count, q);
  fill(format, k_count, k);
  fill(format, k_count, v);
  const DLTensor query = tensor_of(format, q, 4, of_queries), key = tensor_of(format, k, 4, of_keys),
                 value = tensor_of(format, v, 4, of_keys);
  const DLTensor* inputs[] = {&query, &key, &value};
  DLTensor out = tensor_of(format, o, 4, of_queries);
  const softcheck_call call = {.n_inputs = 3, .inputs = inputs, .theta = 1, .scale = 0.0625, .causal = causal};
  const int failed = print_bits(library, prefix, "attention", format, keys, call, &out, q_count * width) |
                     print_bits(library, prefix, "adaptive_attention", format, keys, call, &out, q_count * width);
  free(q);
  free(k);
  free(v);
  free(o);
  return failed;
}

int main(int argc, char** argv) {
  void* library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library == NULL) return fprintf(stderr, "bits LIBRARY PREFIX: %s\n", argc == 3 ? dlerror() : "need both"), 2;
  static const int64_t lengths[] = {1, 7, 32, 129, 1000, 5003};
  int failed = 0;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
      failed |= rows(library, argv[2], &formats[f], lengths[i]);
    failed |= attention(library, argv[2], &formats[f], 5, 0) | attention(library, argv[2], &formats[f], 150, 0) |
              attention(library, argv[2], &formats[f], 150, 1);
  }
  return failed;
}
