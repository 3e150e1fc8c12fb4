#pragma once

namespace softcheck::proptests {

/// Was it built with libseccomp? Without it nothing below refuses a system call.
bool knows_system_calls();

/// From here on the calling process cannot trace, read or write another process, leave its session or process group,
/// mount, open a socket or make a namespace: those calls fail with EPERM. Threads, files, memory and devices work as
/// before.
///
/// driver_sockets     the sockets that a CUDA driver opens when it starts, and fails without, are allowed: local ones
/// of
///                    sequenced packets, which it binds and listens on. None can be connected, so that nothing is sent
/// no_other_process   signals to other processes are refused, too: where there is no pid namespace to refuse them
/// returns            whether the filter is in place: libseccomp was there when this was built, and the system has it
bool refuse_system_calls(bool no_other_process, bool driver_sockets);

}  // namespace softcheck::proptests
