// A stranger's project: one value from each library, through the installed headers alone.
#include <iostream>
#include <vector>

#include "numerics/rows/row_oracle.hpp"
#include "proptests/registry.hpp"
#include "theory/lemma_2_1.hpp"

int main() {
  using namespace softcheck;
  const std::vector<double> logits{0.5, -1.25, 3};
  const numerics::PrecisionScope precision(113);
  std::cout << "entropy " << numerics::RowOracle(logits).entropy() << '\n';

  const std::vector<numerics::Certificate> certificates = theory::certify_lemma_2_1(logits, 1);
  const numerics::Verdict lemma = numerics::worst(certificates);
  std::cout << "Lemma 2.1 " << numerics::to_string(lemma) << " by " << certificates.size() << " certificates\n";

  proptests::RunOptions options;
  options.cases = 5;
  const proptests::Outcome outcome = proptests::all_properties().front().run(options);
  std::cout << proptests::all_properties().front().name() << ' ' << numerics::to_string(outcome.verdict) << '\n';
  const bool holds =
      !certificates.empty() && lemma == numerics::Verdict::proved && outcome.verdict == numerics::Verdict::proved;
  return holds ? 0 : 1;
}
