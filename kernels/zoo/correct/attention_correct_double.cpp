// Correct: everything in double whatever the inputs, rounded at the end: acc=f64.
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {
template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to;
  for (const From x : from) to.push_back(static_cast<To>(x));
  return to;
}
}  // namespace

SOFTCHECK_MUTANT attention_correct_double(const softcheck_call* call) {
  return attend(call, [scale = call->scale]<class Real>(Row<Real>& row) {
    Row<double> wide;
    wide.query = converted<double>(row.query);
    wide.keys = converted<double>(row.keys);
    wide.values = converted<double>(row.values);
    wide.visible = row.visible;
    wide.scale = scale;
    wide.out.resize(row.out.size());
    attend_two_pass(wide);
    row.out = converted<Real>(wide.out);
    row.lse = static_cast<Real>(wide.lse);
    row.entropy = static_cast<Real>(wide.entropy);
  });
}
