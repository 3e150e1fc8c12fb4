#pragma once

// RapidCheck's types by name. <rapidcheck.h> costs a second wherever it is read: it stands where cases are drawn or
// shrunk, and nowhere on the way to a case.
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
