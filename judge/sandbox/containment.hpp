#pragma once

#include <string>

namespace softcheck::proptests {

/// How far the judge isolates a kernel from everything but its tensors.
enum class Isolation {
  full,     // as far as the system allows
  process,  // a separate process with the judge's rights: for a kernel that needs files, sockets or a cache
};

/// The means that isolate a kernel's process from the judge and the machine, as far as the system allowed them.
/// docs/security.md says what each prevents.
struct Containment {
  // a pid namespace: the kernel can name no other process, and no process outlives the namespace
  bool processes = false;
  bool proc = false;             // /proc shows only that namespace
  bool files = false;            // a mount namespace in which every file system is read-only
  bool network = false;          // a network namespace without a device, and an IPC namespace
  bool user_namespace = false;   // no capabilities in the judge's user namespace
  bool other_user = false;       // a uid other than the judge's
  bool no_capabilities = false;  // no capability except to read files
  bool filter = false;           // refuses the system calls that a kernel does not need
  bool driver_sockets = false;   // allows the local sockets that a device's driver needs
};

/// One line for a report: "own pid, mount, network and IPC namespaces, files read-only, ...".
std::string to_string(const Containment& containment);

/// Moves the calling process's future children into new namespaces, as many as the system allows.
Containment enter_namespaces();

/// To be called in the first process of the namespaces: makes every file system read-only, and mounts an empty
/// /dev/shm, an empty /dev/pts and the namespace's own /proc.
void close_file_systems(Containment& containment);

/// To be called in the process that will run the kernel: gives up the user, the capabilities, the resources and the
/// system calls that a kernel does not need.
///
/// driver_sockets   the kernel uses a device whose driver opens local sockets
void give_up_rights(Containment& containment, bool driver_sockets);

/// Was softcheck built with libseccomp? If not, refuse_system_calls refuses nothing.
bool knows_system_calls();

/// From now on these calls of the process fail with EPERM: tracing, reading or writing another process, leaving its
/// session or process group, mounting, opening a socket, making a namespace. Threads, files, memory, devices and
/// connected pairs of sockets work as before.
///
/// no_other_process   also refuses signals to other processes; for systems without a pid namespace
/// driver_sockets     allows the calls without which a CUDA driver does not start: to make, bind and listen on a local
///                    SOCK_SEQPACKET socket. Such a socket can neither connect nor accept
/// returns            true if the filter is in place: softcheck was built with libseccomp, and the system supports it
bool refuse_system_calls(bool no_other_process, bool driver_sockets);

}  // namespace softcheck::proptests
