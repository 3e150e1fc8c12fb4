#pragma once

#include <string>

namespace softcheck::proptests {

/// How far the judge isolates a kernel from everything but its tensors.
enum class Isolation {
  full,     // as far as the system lets the judge
  process,  // a process of its own with the judge's rights: for a kernel that needs files, sockets or a cache
};

/// The means that isolate a kernel's process from the judge and the machine, as far as the system allowed them.
/// docs/security.md says what each prevents.
struct Containment {
  bool processes = false;        // a pid namespace: no other process can be named, and none outlives it
  bool proc = false;             // a /proc of that namespace
  bool files = false;            // a mount namespace in which every file system is read-only
  bool network = false;          // a network namespace without a device, and an IPC namespace
  bool user_namespace = false;   // no capability in the judge's own
  bool other_user = false;       // another uid than the judge's
  bool no_capabilities = false;  // none but to read files
  bool filter = false;           // system calls that a kernel has no use for are refused
  bool driver_sockets = false;   // but for the local sockets that a device's driver needs
};

/// "own pid, mount, network and IPC namespaces, files read-only, ...": one line for a report.
std::string to_string(const Containment& containment);

/// Takes the calling process's children to be into namespaces of their own, as many as the system allows.
Containment enter_namespaces();

/// In the first process of the namespaces: every file system read-only, /dev/shm empty and its own, no terminals, and a
/// /proc that shows nothing else.
void close_file_systems(Containment& containment);

/// In the process that will run the kernel: gives up the user, the capabilities, the resources and the system calls
/// that a kernel does not need.
///
/// driver_sockets   the kernel has a device, whose driver opens local sockets (containment.hpp)
void give_up_rights(Containment& containment, bool driver_sockets);

/// Was it built with libseccomp? Without it nothing below refuses a system call.
bool knows_system_calls();

/// From here on the calling process cannot trace, read or write another process, leave its session or process group,
/// mount, open a socket or make a namespace: those calls fail with EPERM. Threads, files, memory, devices and connected
/// pairs of sockets work as before.
///
/// no_other_process   signals to other processes are refused, too: where there is no pid namespace to refuse them
/// driver_sockets     the calls by which a CUDA driver starts, and without which it fails, are allowed: it makes local
///                    sockets of sequenced packets, binds them and listens. None can be connected or accepted
/// returns            whether the filter is in place: libseccomp was there when this was built, and the system has it
bool refuse_system_calls(bool no_other_process, bool driver_sockets);

}  // namespace softcheck::proptests
