#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "judge/results/files/tensor_file.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_report.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::cli {

/// What `softcheck check` was asked, as its flags have it.
struct CheckFlags {
  std::string op = "softmax";
  std::map<std::string, std::string, std::less<>> files;  // FILE[:NAME] by the flag that names it: "logits"
  std::string dtype;
  std::string contract;
  std::optional<double> theta, scale, label_smoothing, z_loss, softcap, top_p, min_p;
  std::optional<std::int64_t> ignore_index, top_k;
  std::string window;     // "LEFT:RIGHT"
  std::string reduction;  // "mean" or "sum"
  bool causal = false, top_left = false, renormalize = false, base_2 = false;
};

/// The tensors of the files, and what they are.
struct CheckedTensors {
  proptests::TensorTask task;
  numerics::Contract contract;
  std::vector<proptests::GivenTensor> outputs;
  std::vector<std::string> roles;            // of files
  std::vector<proptests::FileTensor> files;  // they hold what the others point to

  std::vector<proptests::ReportedTensor> reported() const;
};

/// The flags that name files.
void add_file_flags(Verb verb, CheckFlags& flags);

/// The flags of the files that the op needs: "--logits and --output".
std::string needed_flags(proptests::Op op);

/// Those of the files and parameters that the op has: "--logits, --mask, --output, --theta".
std::string flags_of_op(const CheckFlags& flags, proptests::Op op);

/// Maps the files and reads the contract.
///
/// throws   InputError: a flag that is missing or has no meaning for the op, a file that is not there, malformed, or of
///          another dtype than --dtype says
CheckedTensors read_tensors(const CheckFlags& flags);

}  // namespace softcheck::cli
