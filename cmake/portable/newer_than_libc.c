// Functions that the objects, libstdc++.a and libgcc_eh.a of a newer Debian call and glibc 2.28 lacks. The linker takes
// them where the stubs of cmake/portable.sh do not have the symbol.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// glibc 2.32. Zero makes libstdc++ count references atomically, which is right with one thread, too.
char __libc_single_threaded = 0;

// glibc 2.34. Linux has it since 5.9; before that every number that the process may have is closed.
int close_range(unsigned first, unsigned last, int flags) {
  if (syscall(436, first, last, flags) == 0) return 0;
  struct rlimit limit;
  if (flags != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  for (unsigned long number = first; number <= last && number < limit.rlim_max; ++number) close((int)number);
  return 0;
}

// glibc 2.36.
uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}

// glibc 2.30: pthread_cond_timedwait measures by the wall clock, so that a change of that clock ends the wait early or
// late.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  const int64_t billion = 1000000000;
  int64_t wait = (until->tv_sec - now.tv_sec) * billion + (until->tv_nsec - now.tv_nsec);
  if (wait < 0) wait = 0;
  wait += wall.tv_nsec;
  wall.tv_sec += wait / billion;
  wall.tv_nsec = wait % billion;
  return pthread_cond_timedwait(condition, mutex, &wall);
}

// glibc 2.35: the unwinder of g++ 12 finds the loaded object of an address by it, and has no other way.
struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct search* search = argument;
  const ElfW(Phdr)* frames = NULL;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  int inside = 0;
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t first = object->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;
    inside |= search->address >= first && search->address < last;
    if (first < begin) begin = first;
    if (last > end) end = last;
  }
  if (!inside || frames == NULL) return inside ? -1 : 0;
  search->found->dlfo_map_start = (void*)begin;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
  *found = (struct dl_find_object){0};
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
