#pragma once

// The header's old place, for one release: include judge/conformance.hpp and link softcheck::judge.
#include "judge/conformance.hpp"
