#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// The bytes of a block's rows; for attention also those of the keys, which all rows share.
struct BlockBytes {
  std::span<const std::byte> rows, auxiliary;
};

/// The bytes of each output of a block, row by row.
using BlockResults = std::vector<std::vector<std::byte>>;

/// Calls a kernel with thousands of rows at a time, and records which claims on calls it breaks.
class EnumeratedKernel {
 public:
  /// throws   KernelLoadError; Interrupted
  EnumeratedKernel(const KernelSubject& subject, const KernelLimits& limits);

  /// Makes one call, or several if the domain limits the rows of a call. Asks attention for out, lse and entropy, or
  /// for those that it returns.
  ///
  /// block     its bytes; for attention a query is one number, and so is a key
  /// results   (rows, columns) or (rows); for attention (rows, value_dim), then (rows) each
  /// returns   true if all calls were done
  bool call(const RowShape& shape, std::size_t rows, const BlockBytes& block, BlockResults& results);

  /// A broken claim on calls, once, and a case that shows it.
  struct Broken {
    std::string case_text;
    std::size_t size = 0;  // number of logits
    bool special = false;  // holds a NaN, or has no visible item
    numerics::Certificate certificate;
  };
  const std::vector<Broken>& broken() const { return broken_; }
  /// Number of refused calls.
  std::size_t refused() const { return kernel_.refused_calls(); }
  /// Has the kernel crashed or hung? Then it is not called again.
  bool is_lost() const { return lost_; }
  const std::set<std::string>& notes() const { return notes_; }
  IsolatedKernel& kernel() { return kernel_; }

 private:
  struct Output {
    numerics::Format format;
    std::vector<std::int64_t> shape;
    std::size_t values;  // values per row
    std::size_t bytes() const;
  };
  std::vector<Output> outputs_of(const RowShape& shape, std::size_t rows) const;
  TensorReply ask(const RowShape& shape, std::size_t rows, const BlockBytes& block, BlockResults& results);
  TensorReply ask_for_what_it_returns(const RowShape& shape, std::size_t rows, const BlockBytes& block,
                                      BlockResults& results);
  void look_into(const RowShape& shape, std::size_t rows, const BlockBytes& block, const TensorReply& reply);
  void find_row(const RowShape& shape, std::size_t rows, BlockBytes block, TensorReply reply);
  void add(const std::string& claim, const RowShape& shape, std::size_t rows, const BlockBytes& block,
           const TensorReply* ending, const std::string& remark);
  std::size_t bytes_of_row(const RowShape& shape) const;
  void place_inputs(const RowShape& shape, std::size_t rows, const BlockBytes& block, TensorCall& call);

  const KernelSubject& subject_;
  IsolatedKernel kernel_;
  std::vector<Broken> broken_;
  std::set<std::string> notes_;
  bool lost_ = false;
  std::size_t since_late_ = 0;
  std::size_t returned_;   // number of outputs to ask for
  bool answered_ = false;  // the kernel has accepted a call with this many
  std::vector<std::byte> padded_, queries_, keys_, values_;
  std::vector<std::span<const std::byte>> inputs_;
  BlockResults part_;
};

}  // namespace softcheck::proptests
