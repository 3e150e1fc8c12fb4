#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proptests/exhaustive/quick_rows.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/judge/isolation/isolated_kernel.hpp"
#include "proptests/judge/kernel_judge.hpp"
#include "proptests/property.hpp"

namespace softcheck::proptests {

/// The numbers of a format, side by side in memory.
///
/// bytes    a multiple of the format's
/// values   as many
void decode_all(numerics::Format format, std::span<const std::byte> bytes, std::span<double> values);

/// One row of a call as a case of its own: NaNs and +inf as the case's specials.
RowMatrixCase row_as_case(numerics::Format format, std::span<const std::byte> row, double theta);

/// A kernel that is called with rows by the thousand, and what its calls break beside values.
class EnumeratedKernel {
 public:
  /// throws   KernelLoadError; Interrupted
  EnumeratedKernel(const KernelSubject& subject, const KernelLimits& limits);

  /// Rows of a shape, in calls of as many as the domain has.
  ///
  /// logits    (rows, columns)
  /// results   (rows, columns) or (rows)
  /// returns   whether all calls were done
  bool call(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits, std::span<std::byte> results);

  /// What broke: a certificate of each claim on calls, once. With the case that shows it.
  struct Broken {
    std::string case_text;
    std::size_t size = 0;  // logits of the case
    numerics::Certificate certificate;
  };
  const std::vector<Broken>& broken() const { return broken_; }
  /// Of a shape: were all its calls refused, or some?
  std::size_t refused() const { return kernel_.refused_calls(); }
  /// Has the kernel crashed or hung, so that it is called no more?
  bool is_lost() const { return lost_; }
  const std::set<std::string>& notes() const { return notes_; }
  IsolatedKernel& kernel() { return kernel_; }
  std::size_t result_bytes(const RowShape& shape, std::size_t rows) const;

 private:
  TensorReply ask(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
                  std::span<std::byte> results);
  void look_into(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits, const TensorReply& reply);
  void find_row(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits, TensorReply reply);
  void add(const std::string& claim, const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
           const TensorReply* ending, const std::string& remark);
  std::size_t bytes_of(const RowShape& shape) const;

  const KernelSubject& subject_;
  IsolatedKernel kernel_;
  std::vector<Broken> broken_;
  std::set<std::string> notes_;
  bool lost_ = false;
  std::size_t since_late_ = 0;
  std::vector<std::byte> padded_, padded_results_;
};

}  // namespace softcheck::proptests
