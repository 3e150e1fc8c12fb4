#pragma once

namespace softcheck::proptests {

/// Thrown where the user or a budget ends the work: no failure of what is being judged, and no std::exception, so that
/// nobody takes it for one.
struct Interrupted {};

}  // namespace softcheck::proptests
