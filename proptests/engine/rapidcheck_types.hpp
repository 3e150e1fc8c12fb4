#pragma once

// Forward declarations of RapidCheck's types. <rapidcheck.h> costs a second per source file, so only files that draw or
// shrink cases include it.
namespace rc {

class Random;
template <typename T>
class Gen;
template <typename T>
class Maybe;
template <typename T>
class Seq;
template <typename T>
class Shrinkable;

}  // namespace rc
