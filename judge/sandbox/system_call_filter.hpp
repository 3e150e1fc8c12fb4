#pragma once

namespace softcheck::proptests {

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
