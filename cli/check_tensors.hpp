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

/// The values of `softcheck check`'s flags.
struct CheckFlags {
  std::string op = "softmax";
  std::map<std::string, std::string, std::less<>> files;  // FILE[:NAME] by the flag that names it: "logits"
  std::string dtype;
  std::string contract;
  std::optional<double> theta, scale, label_smoothing, z_loss, softcap, top_p, min_p, dropout_scale, sigmoid_bias,
      routed_scale;
  std::optional<std::int64_t> ignore_index, top_k, groups, groups_kept, group_items;
  std::string window;     // "LEFT:RIGHT"
  std::string reduction;  // "mean" or "sum"
  bool reverse = false, sigmoid = false;
  bool causal = false, top_left = false, renormalize = false, base_2 = false;
};

/// The tensors of the files, and the call that they belong to.
struct CheckedTensors {
  proptests::TensorTask task;
  numerics::Contract contract;
  std::vector<proptests::GivenTensor> outputs;
  std::vector<std::string> roles;            // one for each of files
  std::vector<proptests::FileTensor> files;  // own the memory that task and outputs point to

  std::vector<proptests::ReportedTensor> reported() const;
};

/// The flags that name files.
void add_file_flags(Verb verb, CheckFlags& flags);

/// The flags of the files that the op needs: "--logits and --output".
std::string needed_flags(proptests::Op op);

/// The flags of all files and parameters of the op: "--logits, --mask, --output, --theta".
std::string flags_of_op(const CheckFlags& flags, proptests::Op op);

/// Maps the files and reads the contract.
///
/// throws   InputError: a flag is missing or has no meaning for the op; a file is missing, malformed, or has another
///          dtype than --dtype
CheckedTensors read_tensors(const CheckFlags& flags);

}  // namespace softcheck::cli
