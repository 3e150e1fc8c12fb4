// Exits 0 where the guard clears every field of FPCR that is set, and puts each back.
#include "numerics/formats/fp_environment.cpp"

int main() {
  constexpr std::uint64_t found = 0x1080000;  // FZ and FZ16
  softcheck::numerics::set_fpcr(found);
  std::uint64_t inside = found;
  {
    const softcheck::numerics::FpEnvironmentGuard guard;
    inside = softcheck::numerics::fpcr();
  }
  return inside == 0 && softcheck::numerics::fpcr() == found ? 0 : 1;
}
