#include "kernels/emulator/finding.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace softcheck::kernels::emulator {

bool operator==(SourceLine left, SourceLine right) {
  return left.line == right.line && std::string_view(left.file) == right.file;
}

std::string to_string(SourceLine line) {
  const std::string_view path = line.file;
  const std::size_t folder = path.rfind('/');
  return std::string(folder == std::string_view::npos ? path : path.substr(folder + 1)) + ":" +
         std::to_string(line.line);
}

const char* to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::divergent_barrier:
      return "divergent barrier";
    case FindingKind::divergent_warp:
      return "divergent warp operation";
    case FindingKind::warp_mask:
      return "wrong warp mask";
    case FindingKind::uninitialised_shared:
      return "shared memory read before it was written";
    case FindingKind::shared_race:
      return "race on shared memory";
    case FindingKind::global_race:
      return "race on global memory";
    case FindingKind::out_of_bounds:
      return "index out of bounds";
    case FindingKind::misaligned:
      return "misaligned address";
    case FindingKind::absent_block:
      return "shared memory of an absent block";
    case FindingKind::shared_exhausted:
      return "too little shared memory";
    case FindingKind::schedule_dependent:
      return "results depend on the schedule";
  }
  return "";
}

bool Findings::has(FindingKind kind, SourceLine first, SourceLine second) const {
  return std::ranges::any_of(found_, [&](const Finding& one) {
    return one.kind == kind && one.lines.size() == 2 && one.lines[0] == first && one.lines[1] == second;
  });
}

void Findings::add(Finding finding) {
  const bool known = std::ranges::any_of(
      found_, [&](const Finding& one) { return one.kind == finding.kind && one.lines == finding.lines; });
  if (!known) found_.push_back(std::move(finding));
}

}  // namespace softcheck::kernels::emulator
