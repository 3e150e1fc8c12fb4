// A word of --domain that asks for an attribute of a call leaves no other kind of call out.
#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>

#include "proptests/judge/effort.hpp"
#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

struct AskedAttribute {
  Op op;
  const char* kernel;
  const char* contract;
  const char* word;

  friend std::ostream& operator<<(std::ostream& out, const AskedAttribute& one) { return out << one.word; }
};

class DomainWords : public ::testing::TestWithParam<AskedAttribute> {};

TEST_P(DomainWords, ThatAskForAnAttributeKeepNansAndLayouts) {
  const AskedAttribute& asked = GetParam();
  KernelSubject subject;
  subject.source = {SOFTCHECK_KERNEL_DIR "/libsoftcheck_zoo.so", asked.kernel};
  subject.op = asked.op;
  subject.contract = numerics::parse_contract(asked.contract, Format::f32, output_format(asked.op, Format::f32));
  subject.domain = domain_of(asked.word, asked.op);
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {"ANanLogitMakesItsRowNan", "LayoutsAndNeighboursDoNotMatter"};
  const KernelJudgement judgement = judge_kernel(subject, options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  std::size_t nans = 0, strided = 0;
  for (const PropertyFinding& property : judgement.properties) {
    const auto found = property.outcome.claims.find("kernel.nan_row");
    if (found != property.outcome.claims.end()) nans += found->second.decided;
  }
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    if (entry.dimension == "input layout" && entry.name == "column stride") strided += entry.calls;
  }
  EXPECT_GT(nans, 0U);
  EXPECT_GT(strided, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ops, DomainWords,
                         ::testing::Values(AskedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                          "sum=sequential masked=nan", "reduction=mean"},
                                           AskedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                          "sum=sequential masked=nan", "reduction=sum"},
                                           AskedAttribute{Op::merge_states, "correct_merge_states",
                                                          "sum=sequential masked=zero", "base=2"},
                                           AskedAttribute{Op::topk_softmax, "correct_topk_softmax",
                                                          "sum=sequential masked=nan ties=lowest", "renormalize=1"}));

}  // namespace
}  // namespace softcheck::proptests
