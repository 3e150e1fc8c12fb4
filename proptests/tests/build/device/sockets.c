/* In front of a kernel: how many ways there are to send something to another process by sockets. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static float ways_to_send(void) {
  float ways = 0;
  const int local[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW};
  const int others[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
  for (int i = 0; i < 3; ++i) ways += socket(AF_UNIX, local[i] | SOCK_CLOEXEC, 0) >= 0;
  for (int i = 0; i < 4; ++i) {
    ways += socket(others[i], SOCK_RAW, 0) >= 0 || socket(others[i], SOCK_DGRAM, 0) >= 0;
    ways +=
        socket(others[i], SOCK_SEQPACKET, 0) >= 0 || errno != EPERM; /* where the system has none, the filter says no */
  }
  int pair[2];
  ways += socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0;
  struct sockaddr_un name = {AF_UNIX, "\0softcheck-device-test"};
  const socklen_t size = offsetof(struct sockaddr_un, sun_path) + 22;
  const int there = socket(AF_UNIX, SOCK_SEQPACKET, 0), here = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  if (there < 0 || here < 0 || bind(there, (struct sockaddr*)&name, size) != 0 || listen(there, 1) != 0) return 100;
  ways += connect(here, (struct sockaddr*)&name, size) == 0;
  ways += sendto(here, "x", 1, 0, (struct sockaddr*)&name, size) == 1;
  close(there);
  close(here);
  return ways;
}

/* Asked once: what is opened stays open. */
static float sends(void) {
  static float ways = -1;
  if (ways < 0) ways = ways_to_send();
  return ways;
}
