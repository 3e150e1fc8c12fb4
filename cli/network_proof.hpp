#pragma once

#include <cstdint>
#include <string>

namespace softcheck::cli {

/// `softcheck model --prove FILE NETWORK`.
struct ProveFlags {
  std::string file;    // "": no --prove
  std::string proofs;  // the folder of the compiled theory/proofs; "": that of this command's build
};

/// Writes theorems about the network to the file, has coqc prove them if it is installed, and prints each proved bound
/// next to this command's own enclosure.
///
/// returns  0 proved; 1 coqc refuses them, or they contradict an enclosure; 5 not checked, with a line that says why
/// throws   InputError
int prove_network(const std::string& network, const ProveFlags& flags, std::uint64_t items, std::uint64_t seed);

/// What is wrong with the name of a Coq file; "" if it is valid.
std::string wrong_proof_file(const std::string& path);

}  // namespace softcheck::cli
