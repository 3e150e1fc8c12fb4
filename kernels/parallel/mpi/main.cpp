// softcheck_mpi_ranks: attention that splits its keys over MPI ranks; each rank generates its own keys. Compares the
// bits of all results with those of ranks that are threads of one process, and prints the sent bytes and the times.
// Exit codes: 0 the same bits, 1 different bits, 2 usage.
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/parallel/mpi/made_call.hpp"
#include "kernels/parallel/mpi/mpi_communicator.hpp"
#include "kernels/parallel/rank_attention.hpp"
#include "kernels/parallel/rank_gradient.hpp"
#include "kernels/parallel/thread_communicator.hpp"

namespace softcheck::kernels::parallel {
namespace {

struct Options {
  CallShape shape;
  Route route = Route::tree;
  bool adaptive = false, backward = false;
};

constexpr const char* usage =
    "usage: mpirun -np RANKS softcheck_mpi_ranks [--keys N] [--queries N] [--heads N] [--key-heads N] [--dim N] "
    "[--causal]\n"
    "       [--adaptive] [--backward] [--route tree|ring|reduction]\n";

std::optional<Options> options_of(int count, char** arguments) {
  Options options;
  CallShape& shape = options.shape;
  const std::map<std::string, std::int64_t*> numbers{{"--keys", &shape.keys},
                                                     {"--queries", &shape.queries},
                                                     {"--heads", &shape.heads},
                                                     {"--key-heads", &shape.key_heads},
                                                     {"--dim", &shape.dim}};
  const std::map<std::string, bool*> flags{
      {"--causal", &shape.causal}, {"--adaptive", &options.adaptive}, {"--backward", &options.backward}};
  const std::map<std::string, Route> routes{
      {"tree", Route::tree}, {"ring", Route::ring}, {"reduction", Route::reduction}};
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (flags.contains(name)) {
      *flags.at(name) = true;
      continue;
    }
    if (++i == count) return std::nullopt;
    if (numbers.contains(name)) {
      std::int64_t& number = *numbers.at(name);
      number = std::atoll(arguments[i]);
      if (number < 1 || number > (std::int64_t{1} << 24)) return std::nullopt;
    } else if (name == "--route" && routes.contains(arguments[i])) {
      options.route = routes.at(arguments[i]);
    } else {
      return std::nullopt;
    }
  }
  if (shape.heads % shape.key_heads != 0) return std::nullopt;
  return options;
}

/// Runs the call by these parts of a rank's.
void run(Communicator& ranks, const Options& options, std::vector<KeyPart<AttentionViews>> parts) {
  RankAttention<float>({ranks, options.route, options.shape.keys, std::move(parts)}).attend(options.adaptive);
}
void run(Communicator& ranks, const Options& options, std::vector<KeyPart<AttentionGradientViews>> parts) {
  RankGradient<float>({ranks, options.route, options.shape.keys, std::move(parts)}).differentiate(options.adaptive);
}

/// What this rank makes: its shards, one of whose calls holds the results of queries.
template <class Views>
struct OwnKeys {
  OwnKeys(const CallShape& shape, int rank, int ranks) {
    const KeyTree tree(shape.keys);
    for (const int shard : shards_of(rank, ranks)) {
      std::vector<Node> nodes = tree.nodes_of_shard(shard, 2 * ranks);
      const KeyRange keys = keys_of_nodes(tree, nodes);
      calls.push_back(std::make_unique<MadeCall>(shape, keys));
      parts.push_back({{}, keys, std::move(nodes)});
      set_part(*calls.back(), parts.back().views);
    }
  }

  std::vector<std::unique_ptr<MadeCall>> calls;
  std::vector<KeyPart<Views>> parts;
};

Message bytes_of(const std::vector<float>& numbers) {
  Message message(numbers.size() * sizeof(float));
  if (!message.empty()) std::memcpy(message.data(), numbers.data(), message.size());
  return message;
}
std::vector<float> numbers_of(const Message& message) {
  std::vector<float> numbers(message.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), message.data(), message.size());
  return numbers;
}

bool same(const char* name, const MadeTensor& left, const MadeTensor& right) {
  const std::vector<float>&a = left.numbers(), &b = right.numbers();
  std::size_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ += std::memcmp(&a[i], &b[i], sizeof(float)) == 0 ? 0 : 1;
  if (differ != 0) std::printf("%s: %zu of %zu numbers have other bits\n", name, differ, a.size());
  return differ == 0;
}

/// Whether the results in rank 0 are those of threads, with dk and dv of every rank's keys.
template <class Views>
bool compare(MpiCommunicator& ranks, const Options& options, const OwnKeys<Views>& own) {
  if (ranks.rank() != 0) {
    for (const auto& call : own.calls) {
      ranks.send(0, bytes_of(call->dk.numbers()));
      ranks.send(0, bytes_of(call->dv.numbers()));
    }
    return true;
  }
  const CallShape& shape = options.shape;
  const KeyTree tree(shape.keys);
  MadeTensor dk(0, shape.key_heads, shape.keys, {0, shape.keys}, shape.dim), dv = dk;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<int> shards = shards_of(rank, ranks.size());
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::int64_t first = keys_of_nodes(tree, tree.nodes_of_shard(shards[i], 2 * ranks.size())).begin;
      dk.take(rank == 0 ? own.calls[i]->dk.numbers() : numbers_of(ranks.receive(rank)), first);
      dv.take(rank == 0 ? own.calls[i]->dv.numbers() : numbers_of(ranks.receive(rank)), first);
    }
  }
  MadeCall whole(shape, {0, shape.keys});
  Views views;
  set_views(whole, views);
  const bool ran = run_ranks(2, [&](Communicator& threads) {
    run(threads, options, parts_of_rank(views, tree, threads.rank(), threads.size()));
  });
  const MadeCall& got = *own.calls.front();
  return ran && same("out", got.out, whole.out) && same("lse", got.lse, whole.lse) &&
         same("entropy", got.entropy, whole.entropy) && same("dq", got.dq, whole.dq) && same("dk", dk, whole.dk) &&
         same("dv", dv, whole.dv);
}

struct Sums {
  double bytes, messages, waiting, seconds;
};

void report(const Options& options, int ranks, const Sums& all) {
  static constexpr const char* routes[] = {"tree", "ring", "reduction"};
  const CallShape& shape = options.shape;
  const auto rows = static_cast<double>(shape.heads * shape.queries);
  std::printf(
      "%d ranks, %s%s%s, %lld keys, %lld queries of %lld heads, dim %lld, %s: %.0f bytes a query, %.0f messages, %.3f "
      "s, "
      "of which sending and waiting %.1f %%\n",
      ranks, options.adaptive ? "adaptive " : "", options.backward ? "backward" : "forward",
      shape.causal ? " causal" : "", static_cast<long long>(shape.keys), static_cast<long long>(shape.queries),
      static_cast<long long>(shape.heads), static_cast<long long>(shape.dim), routes[static_cast<int>(options.route)],
      all.bytes / rows, all.messages, all.seconds / ranks, 100 * all.waiting / all.seconds);
}

template <class Views>
int run_call(const Options& options) {
  MpiCommunicator ranks;
  const OwnKeys<Views> own(options.shape, ranks.rank(), ranks.size());
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  run(ranks, options, own.parts);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Traffic traffic = ranks.traffic();
  const double mine[4] = {static_cast<double>(traffic.bytes), static_cast<double>(traffic.messages), traffic.seconds,
                          seconds};
  double sums[4] = {};
  MPI_Reduce(mine, sums, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int equal = compare(ranks, options, own) ? 1 : 0;
  MPI_Bcast(&equal, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (ranks.rank() == 0) {
    report(options, ranks.size(), {sums[0], sums[1], sums[2], sums[3]});
    std::printf(equal != 0 ? "the bits are those of threads\n" : "the bits are not those of threads\n");
  }
  return equal != 0 ? 0 : 1;
}

}  // namespace
}  // namespace softcheck::kernels::parallel

int main(int count, char** arguments) {
  namespace parallel = softcheck::kernels::parallel;
  int given = MPI_THREAD_SINGLE;  // the threads that it is compared with do not call MPI
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &given);
  const std::optional<parallel::Options> options = parallel::options_of(count, arguments);
  int status = 2;
  if (!options) {
    std::fputs(parallel::usage, stderr);
  } else if (options->backward) {
    status = parallel::run_call<softcheck::kernels::call::AttentionGradientViews>(*options);
  } else {
    status = parallel::run_call<softcheck::kernels::call::AttentionViews>(*options);
  }
  MPI_Finalize();
  return status;
}
