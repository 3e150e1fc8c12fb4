// Attention by ranks through the ABI: ranks are threads of the calling process, and each reads only its own keys. The
// symbols PREFIX_attention and so on name the number of ranks and the route:
//
//   softcheck_ranks_1_ 2_ 3_ 4_ 8_   by the tree
//   softcheck_ranks_4_ring_ 8_ring_  by the ring
//   softcheck_ranks_8_reduction_     by a reduction in the order in which ranks arrive
//
// Contracts are in kernels/entry/contracts.tsv, derived in docs/kernels/parallel_attention.md. All symbols have the
// same bits. More than 1024 keys have the bits of softcheck_attention and softcheck_adaptive_attention.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/call/attention_views.hpp"
#include "kernels/entry/ops.hpp"
#include "kernels/parallel/key_parts.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/rank_attention.hpp"
#include "kernels/parallel/rank_gradient.hpp"
#include "kernels/parallel/thread_communicator.hpp"

namespace softcheck::kernels::parallel {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

/// Runs work<T>(communicator, parts) in every rank.
template <class Views, class Work>
int run(int ranks, const std::optional<Views>& views, Work work) try {
  if (!views) return refused;
  const KeyTree tree(forward_of(*views).keys());
  const bool is_wide = forward_of(*views).q.storage == Storage::f64;
  const bool succeeded = run_ranks(ranks, [&](Communicator& communicator) {
    std::vector<KeyPart<Views>> parts = parts_of_rank(*views, tree, communicator.rank(), communicator.size());
    if (is_wide) {
      work.template operator()<double>(communicator, std::move(parts));
    } else {
      work.template operator()<float>(communicator, std::move(parts));
    }
  });
  return succeeded ? done : refused;
} catch (...) {
  return refused;  // out of memory
}

/// How many ranks share the keys, and how they merge.
struct Sharing {
  int ranks;
  Route route;
};

int attend(const softcheck_call* call, Sharing sharing, bool adaptive) {
  const std::optional<AttentionViews> views = attention_views(call);
  const std::int64_t keys = views ? views->keys() : 0;
  return run(sharing.ranks, views, [&]<class T>(Communicator& ranks, std::vector<KeyPart<AttentionViews>> parts) {
    RankAttention<T>({ranks, sharing.route, keys, std::move(parts)}).attend(adaptive);
  });
}

int differentiate(const softcheck_call* call, Sharing sharing, bool adaptive) {
  const std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (views && adaptive && views->by_lse) return refused;
  const std::int64_t keys = views ? views->forward.keys() : 0;
  return run(sharing.ranks, views,
             [&]<class T>(Communicator& ranks, std::vector<KeyPart<AttentionGradientViews>> parts) {
               RankGradient<T>({ranks, sharing.route, keys, std::move(parts)}).differentiate(adaptive);
             });
}

template <int ranks, Route route>
struct RankOps {
  static constexpr Sharing sharing{ranks, route};
  static int attention(const softcheck_call* call) { return attend(call, sharing, false); }
  static int adaptive_attention(const softcheck_call* call) { return attend(call, sharing, true); }
  static int attention_backward(const softcheck_call* call) { return differentiate(call, sharing, false); }
  static int adaptive_attention_backward(const softcheck_call* call) { return differentiate(call, sharing, true); }
};

}  // namespace
}  // namespace softcheck::kernels::parallel

namespace parallel = softcheck::kernels::parallel;

#define SOFTCHECK_RANK_ENTRIES(prefix, ...)                \
  SOFTCHECK_ENTRY(prefix, attention, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, adaptive_attention, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, attention_backward, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, adaptive_attention_backward, __VA_ARGS__)

SOFTCHECK_RANK_ENTRIES(softcheck_ranks_1_, parallel::RankOps<1, parallel::Route::tree>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_2_, parallel::RankOps<2, parallel::Route::tree>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_3_, parallel::RankOps<3, parallel::Route::tree>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_4_, parallel::RankOps<4, parallel::Route::tree>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_8_, parallel::RankOps<8, parallel::Route::tree>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_4_ring_, parallel::RankOps<4, parallel::Route::ring>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_8_ring_, parallel::RankOps<8, parallel::Route::ring>)
SOFTCHECK_RANK_ENTRIES(softcheck_ranks_8_reduction_, parallel::RankOps<8, parallel::Route::reduction>)
