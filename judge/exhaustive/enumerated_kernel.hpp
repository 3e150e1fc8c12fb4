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

/// The bytes of a block: of its rows, and of attention those of the keys, which all rows share.
struct BlockBytes {
  std::span<const std::byte> rows, auxiliary;
};

/// The bytes of each output of a block, row after row.
using BlockResults = std::vector<std::vector<std::byte>>;

/// A kernel that is called with rows by the thousand, and what its calls break beside values.
class EnumeratedKernel {
 public:
  /// throws   KernelLoadError; Interrupted
  EnumeratedKernel(const KernelSubject& subject, const KernelLimits& limits);

  /// Rows of a shape, in calls of as many as the domain has. Attention is asked for out, lse and entropy, or for as
  /// many of the three as it returns.
  ///
  /// block     its bytes; of attention a query is one number, and so is a key
  /// results   (rows, columns) or (rows); of attention (rows, value_dim), then (rows) each
  /// returns   whether all calls were done
  bool call(const RowShape& shape, std::size_t rows, const BlockBytes& block, BlockResults& results);

  /// What broke: a certificate of each claim on calls, once. With the case that shows it.
  struct Broken {
    std::string case_text;
    std::size_t size = 0;  // logits of the case
    bool special = false;  // it holds a NaN, or nothing visible
    numerics::Certificate certificate;
  };
  const std::vector<Broken>& broken() const { return broken_; }
  /// Of a shape: were all its calls refused, or some?
  std::size_t refused() const { return kernel_.refused_calls(); }
  /// Has the kernel crashed or hung, so that it is called no more?
  bool is_lost() const { return lost_; }
  const std::set<std::string>& notes() const { return notes_; }
  IsolatedKernel& kernel() { return kernel_; }

 private:
  struct Output {
    numerics::Format format;
    std::vector<std::int64_t> shape;
    std::size_t values;  // of a row
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
  std::size_t returned_;   // outputs
  bool answered_ = false;  // with so many
  std::vector<std::byte> padded_, queries_, keys_, values_;
  std::vector<std::span<const std::byte>> inputs_;
  BlockResults part_;
};

}  // namespace softcheck::proptests
