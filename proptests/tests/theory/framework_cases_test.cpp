// Generators of everything but rows.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <iostream>
#include <map>
#include <numeric>

#include "proptests/engine/property.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "proptests/generators/networks/network.hpp"
#include "proptests/generators/networks/normed_head.hpp"
#include "proptests/generators/rows/merge_tree.hpp"
#include "theory/proposition_3_1.hpp"
#include "theory/small_transformer.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Verdict;

template <class Case, class Visit>
void for_each_case(const rc::Gen<Case>& generator, Visit visit) {
  rc::Random random(20241001);
  for (int i = 0; i < 1000; ++i) {
    const rc::Shrinkable<Case> drawn = generator(random.split(), i % 101);
    visit(drawn.value());
    auto shrinks = drawn.shrinks();
    for (int k = 0; k < 5; ++k) {
      const auto shrink = shrinks.next();
      if (!shrink) break;
      visit(shrink->value());
    }
  }
}

/// What is left of a case when holds is false on it.
template <class Case>
Case smallest_failing(rc::Gen<Case> generator, std::function<bool(const Case&)> holds) {
  const Property property(
      PropertyOf<Case>{"Toy", "Holds", {"toy.claim"}, std::move(generator), [holds](const Case& value) {
                         numerics::Certificate result;
                         result.claim = "toy.claim";
                         result.verdict = holds(value) ? Verdict::proved : Verdict::violated;
                         return Certificates{result};
                       }});
  const Outcome outcome = property.run({});
  EXPECT_TRUE(outcome.counterexample.has_value());
  Case result;
  if (outcome.counterexample) {
    std::cout << outcome.counterexample->evaluations << " evaluations: " << outcome.counterexample->case_text << "\n";
    EXPECT_LT(outcome.counterexample->evaluations, RunOptions{}.shrinks);
    from_text(outcome.counterexample->case_text, result);
  }
  return result;
}

template <class Case>
void expect_round_trip(const Case& value) {
  Case parsed;
  from_text(to_text(value), parsed);
  EXPECT_EQ(parsed, value) << to_text(value).substr(0, 200);
}

TEST(MergeTreeGenerator, EveryShapeOccursAndEveryCaseFitsTogether) {
  std::map<std::string, int> shapes;
  int empty_chunks = 0;
  for_each_case(merge_tree_cases(), [&](const MergeTreeCase& merge_case) {
    ++shapes[merge_case.shape];
    EXPECT_EQ(merge_case.chunks.size(), merge_case.tree.leaves());
    EXPECT_EQ(std::accumulate(merge_case.chunks.begin(), merge_case.chunks.end(), std::uint64_t{0}),
              merge_case.row.row.size());
    for (std::uint64_t size : merge_case.chunks) empty_chunks += size == 0;
    expect_round_trip(merge_case);
  });
  for (const char* shape : {"left_comb", "right_comb", "balanced", "random", "shuffled"}) {
    EXPECT_GE(shapes[shape], 50) << shape;
  }
  EXPECT_GE(empty_chunks, 100);
}

TEST(MergeTreeGenerator, FoldingVisitsEveryLeafOnce) {
  for (std::size_t leaves = 1; leaves <= 9; ++leaves) {
    for (const MergeTree& tree :
         {MergeTree::left_comb(leaves), MergeTree::right_comb(leaves), MergeTree::balanced(leaves)}) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < leaves; ++i) names.emplace_back(1, static_cast<char>('a' + i));
      EXPECT_EQ(tree.fold(names, [](const std::string& a, const std::string& b) { return a + b; }),
                std::string("abcdefghi").substr(0, leaves));
      EXPECT_EQ(parse_merge_tree(to_text(tree)).leaves(), leaves);
      for (std::size_t leaf = 0; leaves > 1 && leaf < leaves; ++leaf) {
        EXPECT_EQ(tree.without(leaf).leaves(), leaves - 1);
      }
    }
  }
  EXPECT_EQ(to_text(MergeTree::left_comb(4)), "(((0 1) 2) 3)");
  EXPECT_EQ(to_text(MergeTree::right_comb(4)), "(0 (1 (2 3)))");
  EXPECT_EQ(to_text(MergeTree::balanced(5)), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(to_text(MergeTree::balanced(5).without(1)), "((0 (1 2)) 3)");
}

TEST(MergeTreeGenerator, WhatIsNoTreeIsRefused) {
  for (const char* text :
       {"", "1", "(0 0)", "(0 2)", "(0 1", "(0 1))", "(0  1)", "((0 1) 1)", "(0 1 2)", "(0 -1)", "0 1"}) {
    EXPECT_THROW(parse_merge_tree(text), std::invalid_argument) << text;
  }
  EXPECT_THROW(MergeTree({{0, 2}}), std::invalid_argument);
  EXPECT_THROW(MergeTree({{0, 0}}), std::invalid_argument);
  MergeTreeCase merge_case;
  EXPECT_THROW(from_text("merge (0 1) chunks=1,2 row f32 theta=0x1p+0 0x0p+0*2", merge_case), std::invalid_argument);
  EXPECT_THROW(from_text("merge (0 1) chunks=2 row f32 theta=0x1p+0 0x0p+0*2", merge_case), std::invalid_argument);
}

TEST(MergeTreeGenerator, AFailureShrinksToTheChunksItNeeds) {
  const MergeTreeCase three = smallest_failing<MergeTreeCase>(
      merge_tree_cases(), [](const MergeTreeCase& merge_case) { return merge_case.tree.leaves() < 3; });
  EXPECT_EQ(three.tree, MergeTree::left_comb(3));
  EXPECT_EQ(three.row.row.size(), 1U);
  const MergeTreeCase empty = smallest_failing<MergeTreeCase>(
      merge_tree_cases(), [](const MergeTreeCase& merge_case) { return merge_case.chunks.front() != 0; });
  EXPECT_EQ(to_text(empty.tree), "(0 1)");
  EXPECT_EQ(empty.row.row.size(), 1U);
}

TEST(MatrixGenerator, EveryFamilyOccursAndParsesBack) {
  std::map<std::string, int> families;
  for_each_case(matrix_cases(), [&](const MatrixCase& matrix_case) {
    ++families[matrix_case.family];
    EXPECT_EQ(matrix_case.matrix.entries.size(), matrix_case.matrix.rows * matrix_case.matrix.cols);
    EXPECT_GE(matrix_case.matrix.entries.size(), 1U);
    for (double entry : matrix_case.matrix.entries) EXPECT_TRUE(std::isfinite(entry));
    expect_round_trip(matrix_case);
  });
  for (MatrixFamily family : all_matrix_families()) EXPECT_GE(families[to_string(family)], 50) << to_string(family);
}

TEST(MatrixGenerator, AFailureShrinksToTheEntriesItNeeds) {
  const MatrixCase negative = smallest_failing<MatrixCase>(matrix_cases(), [](const MatrixCase& matrix_case) {
    return std::none_of(matrix_case.matrix.entries.begin(), matrix_case.matrix.entries.end(),
                        [](double entry) { return entry < -1; });
  });
  EXPECT_EQ(to_text(negative), "matrix 1x1 -0x1p+1");
  const MatrixCase shape = smallest_failing<MatrixCase>(matrix_cases(), [](const MatrixCase& matrix_case) {
    return matrix_case.matrix.rows < 3 || matrix_case.matrix.cols < 2;
  });
  EXPECT_EQ(to_text(shape), "matrix 3x2 0x0p+0 0x0p+0 0x0p+0 0x0p+0 0x0p+0 0x0p+0");
}

TEST(ProjectionGenerator, ShapesFitAndParseBack) {
  int unbiased = 0;
  for_each_case(projection_cases(), [&](const ProjectionCase& projection) {
    expect_round_trip(projection);
    const theory::QueryAndItems input = query_and_items(projection);
    EXPECT_EQ(input.query.cols(), input.y.size());
    EXPECT_EQ(input.key.cols(), input.items.cols());
    EXPECT_EQ(input.query.rows(), input.key.rows());
    EXPECT_EQ(input.query_bias.size(), input.query.rows());
    EXPECT_EQ(input.key_bias.size(), input.query.rows());
    unbiased += input.query_bias.isZero(0);
  });
  EXPECT_GE(unbiased, 100);
  const ProjectionCase smallest = smallest_failing<ProjectionCase>(
      projection_cases(), [](const ProjectionCase& projection) { return projection.items.rows < 2; });
  EXPECT_EQ(size_of(smallest), 7U);
}

TEST(NormedHeadGenerator, EveryKindOccursAndParsesBack) {
  std::map<std::string, int> kinds;
  for_each_case(normed_head_cases(), [&](const NormedHeadCase& head_case) {
    expect_round_trip(head_case);
    const theory::NormedHead head = normed_head(head_case);
    EXPECT_GE(theory::normalised_spread(head), 0);
    EXPECT_EQ(static_cast<Eigen::Index>(head_case.inputs.cols), head.gain.size());
    ++kinds[theory::to_string(head.norm)];
    ++kinds[head.shift.isZero(0) && head.query_bias.isZero(0) ? "unbiased" : "biased"];
    ++kinds[(head.gain.array() == 1).all() ? "without gain" : "gain"];
  });
  EXPECT_EQ(kinds.size(), 6U);
  for (const auto& [kind, count] : kinds) EXPECT_GE(count, 100) << kind;
  const NormedHeadCase smallest = smallest_failing<NormedHeadCase>(
      normed_head_cases(), [](const NormedHeadCase& head) { return head.inputs.rows < 2; });
  EXPECT_EQ(size_of(smallest), 8U);
  EXPECT_FALSE(smallest.layer_norm);
}

TEST(NormedHeadGenerator, WhatIsNoHeadIsRefused) {
  const std::string blocks = " gain=1x1:1 shift=1x1:0 query=1x1:1 key=1x1:1 query_bias=1x1:0 key_bias=1x1:0";
  NormedHeadCase head;
  from_text("normed rms_norm eps=1" + blocks + " inputs=2x1:1,2", head);
  EXPECT_EQ(head.inputs.rows, 2U);
  for (const std::string& text :
       {"normed rms_norm eps=1" + blocks, "normed batch_norm eps=1" + blocks + " inputs=1x1:1",
        "normed rms_norm eps=0" + blocks + " inputs=1x1:1", "normed rms_norm eps=1" + blocks + " inputs=1x2:1,2",
        "normed rms_norm eps=1" + blocks + " inputs=1x2:1"}) {
    EXPECT_THROW(from_text(text, head), std::invalid_argument) << text;
  }
}

TEST(NetworkGenerator, EveryKindOccursAndParsesBack) {
  std::map<std::string, int> kinds;
  for_each_case(network_cases(), [&](const SmallNetworkCase& network) {
    expect_round_trip(network);
    ++kinds[network.mask == Mask::bert ? "bert" : "gpt"];
    ++kinds[network.residual ? "residual" : "without residual"];
    ++kinds[network.feedforward ? "feedforward" : "attention only"];
    ++kinds["depth " + std::to_string(network.depth)];
    kinds["long"] += network.length >= 65536;
    kinds["tempered"] += network.theta != 1;
  });
  for (const char* kind : {"bert", "gpt", "residual", "without residual", "feedforward", "attention only", "depth 1",
                           "depth 2", "depth 3", "long", "tempered"}) {
    EXPECT_GE(kinds[kind], 50) << kind;
  }
}

TEST(NetworkGenerator, TheNetworkHasEveryNumberOfItsCase) {
  const SmallNetworkCase network{.seed = 7,
                                 .vocabulary = 3,
                                 .width = 6,
                                 .heads = 2,
                                 .depth = 4,
                                 .mask = Mask::gpt,
                                 .residual = false,
                                 .feedforward = true,
                                 .activation = Nonlinearity::tanh,
                                 .theta = 0.5,
                                 .weight_scale = 2};
  const theory::SmallTransformerShape shape = shape_of(network);
  EXPECT_EQ(shape.seed, 7U);
  EXPECT_EQ(shape.vocabulary, 3);
  EXPECT_EQ(shape.width, 6);
  EXPECT_EQ(shape.heads, 2);
  EXPECT_EQ(shape.depth, 4);
  EXPECT_EQ(shape.mask, theory::AttentionMask::gpt);
  EXPECT_FALSE(shape.residual);
  EXPECT_TRUE(shape.feedforward);
  EXPECT_EQ(shape.activation, theory::Activation::tanh);
  EXPECT_EQ(shape.theta, 0.5);
  EXPECT_EQ(shape.weight_scale, 2);
  EXPECT_EQ(theory::small_transformer(shape).layers.size(), 4U);
}

TEST(NetworkGenerator, AFailureShrinksToTheNetworkItNeeds) {
  const SmallNetworkCase deep = smallest_failing<SmallNetworkCase>(
      network_cases(), [](const SmallNetworkCase& network) { return network.depth < 2 || network.mask == Mask::bert; });
  SmallNetworkCase expected;
  expected.vocabulary = 1;
  expected.depth = 2;
  expected.mask = Mask::gpt;
  EXPECT_EQ(deep, expected) << to_text(deep);
}

}  // namespace
}  // namespace softcheck::proptests
