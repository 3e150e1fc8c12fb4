// The header's old place and its old library serve for one release.
#include "proptests/judge/conformance.hpp"

int main() {
  return softcheck::conforms([](std::span<const float>, std::span<float>) {}, "softmax f32").passed() ? 1 : 0;
}
