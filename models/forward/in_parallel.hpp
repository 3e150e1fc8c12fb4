#pragma once

#include <cstddef>
#include <functional>

namespace softcheck::models {

/// job(i) for each i below count, on several threads; they take the next i as they are free.
///
/// threads  >= 1
/// throws   what a job throws, of one that failed, when all threads have ended
void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job);

}  // namespace softcheck::models
