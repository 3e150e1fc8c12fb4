/* As much of the CUDA driver as the judge calls: a device whose memory is the heap, so that a kernel of the CPU can
 * compute there. Its start opens the sockets that driver 580.159.04 opens on an H100, and fails without them as that
 * does. FAKE_CUDA names what goes wrong: "none" there is no device, "small" it has 1 MiB, "fault" the kernel failed on
 * it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int is(const char* what) {
  const char* word = getenv("FAKE_CUDA");
  return word != NULL && strcmp(word, what) == 0;
}

/* Where another process could ask for this one's memory. */
static int listens(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int written = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cuda-uvmfd-%d", (int)getpid());
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)written);
  const int at = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return at >= 0 && bind(at, (struct sockaddr*)&name, size) == 0 && listen(at, 128) == 0;
}

int cuInit(unsigned flags) { return flags != 0 ? 1 : is("none") ? 100 : listens() ? 0 : 304; }
int cuDeviceGet(int* device, int ordinal) {
  *device = 7;
  return ordinal == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &cuInit;
  return device == 7 ? 0 : 101;
}
int cuCtxSetCurrent(void* context) { return context == (void*)&cuInit ? 0 : 201; }
int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  if (is("small") && bytes > (1u << 20)) return 2;
  *memory = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory == 0 ? 2 : 0;
}
int cuMemFree_v2(uint64_t memory) {
  free((void*)(uintptr_t)memory);
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return 0;
}
int cuCtxSynchronize(void) { return is("fault") ? 700 : 0; }
int cuGetErrorName(int error, const char** name) {
  *name = error == 100   ? "CUDA_ERROR_NO_DEVICE"
          : error == 304 ? "CUDA_ERROR_OPERATING_SYSTEM"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                         : NULL;
  return *name == NULL;
}
