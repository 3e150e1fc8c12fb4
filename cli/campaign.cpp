// softcheck campaign: a plan of judgements, split into shards for any number of processes and machines.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/signals.hpp"
#include "cli/verbs.hpp"
#include "judge/campaigns/campaign_report.hpp"
#include "judge/campaigns/merge.hpp"
#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_folder.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "judge/campaigns/worker_pool.hpp"
#include "library/build_info.hpp"
#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_plan = std::uint64_t{16} << 20;  // plans are written by hand, a few lines per kernel

struct CampaignFlags {
  std::string plan;
  std::string out;
  std::string kernels;  // empty: the plan's folder
  std::string shard;    // "I/N"
  std::string print;    // a shard's key
  std::string kept;     // the folder where trainings save their state; empty: DIR/kept of --out, none for --print
  bool list = false;
  unsigned processes = 1;
};

struct MergeFlags {
  std::string plan;
  std::vector<std::string> folders;
  std::string out;  // empty: the first folder
};

Plan plan_of(const std::string& path) {
  if (path.empty()) throw InputError(usage, "campaign: need a plan: softcheck campaign PLAN.toml --out DIR");
  try {
    return parse_plan(models::read_text_file(path, largest_plan), path);
  } catch (const models::MissingTensorFile&) {
    throw InputError(usage, fmt::format("campaign: need a plan that can be read, got '{}'", path));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("campaign: {}", error.what()));
  } catch (const PlanError& error) {
    throw InputError(malformed, error.what());
  }
}

fs::path kernels_of(const CampaignFlags& flags) {
  const fs::path folder = !flags.kernels.empty() ? fs::path(flags.kernels) : fs::absolute(flags.plan).parent_path();
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw InputError(usage, fmt::format("--kernels: need a folder, got '{}'", folder.string()));
  }
  return fs::absolute(folder);
}

ShardRun run_of(const Plan& plan, const CampaignFlags& flags) {
  const fs::path kernels = kernels_of(flags);
  ShardRun run{plan.hash, std::string(this_build().version), std::string(this_build().commit),
               kernels,   library_digests(plan, kernels),    Interruption::requested};
  run.kept = flags.kept.empty() ? fs::path() : fs::absolute(flags.kept);
  run.network = kernel_folder() / "libsoftcheck_cpu_kernels.so";
  return run;
}

std::vector<ShardState> states_of(const Plan& plan, const fs::path& folder, const ShardRun& run) {
  return ShardFolder(folder).states(plan, run.commit, [&](const Question& asked) { return source_digest(asked, run); });
}

// The shards that --shard selects, or all, by their index in the plan.
std::vector<std::size_t> chosen_shards(const Plan& plan, const std::string& share) {
  std::size_t one = 1, all = 1;
  if (!share.empty()) {
    const char* end = share.data() + share.size();
    const auto [slash, error] = std::from_chars(share.data(), end, one);
    const bool half = error == std::errc() && slash != end && *slash == '/';
    const auto [last, other] = half ? std::from_chars(slash + 1, end, all) : std::from_chars_result{slash, error};
    if (!half || other != std::errc() || last != end || one < 1 || one > all) {
      throw InputError(usage, fmt::format("--shard: need I/N with 1 <= I <= N, got '{}'", share));
    }
  }
  std::vector<std::size_t> places = share_of(plan.shards.size(), one, all);
  for (std::size_t& place : places) --place;
  return places;
}

void list(const Plan& plan, const CampaignFlags& flags) {
  const std::vector<std::size_t> places = chosen_shards(plan, flags.shard);
  std::vector<ShardState> states;
  if (!flags.out.empty()) {
    states = states_of(plan, flags.out, run_of(plan, flags));
  }
  std::string text;
  for (const std::size_t place : places) {
    const Shard& shard = plan.shards[place];
    text += fmt::format("{}\t{}\t{}\t{}\n", shard.key, states.empty() ? "-" : to_string(states[place]),
                        shard.asked.size(), escaped_text(shard.asked.front().text()));
  }
  say_text(text);
}

// For Dask's workers: writes one shard to standard output, and ends when its parent process ends.
int print_shard(const Plan& plan, const CampaignFlags& flags) {
  const auto shard = std::ranges::find(plan.shards, flags.print, &Shard::key);
  if (shard == plan.shards.end()) {
    throw InputError(usage, fmt::format("--print: the plan has no shard '{}'", flags.print));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Interruption interruption;
  try {
    say_text(to_text(judge_shard(*shard, run_of(plan, flags))));
  } catch (const KernelLoadError& error) {
    throw InputError(static_cast<ExitCode>(exit_code(error.reason)), error.what());
  } catch (const Interrupted&) {
    throw InputError(undecided, "campaign: ended by the user; this shard is not finished");
  } catch (const models::MissingTensorFile& error) {
    throw InputError(usage, error.what());
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, error.what());
  } catch (const std::exception& error) {
    throw InputError(usage, error.what());
  }
  return holds;
}

std::string progress_line(std::size_t done, std::size_t todo, double seconds) {
  std::string line = fmt::format("{} of {} shards", done, todo);
  if (done == 0 || seconds <= 0) return line;
  const double rate = static_cast<double>(done) / seconds;
  return line + fmt::format(", {:.2g} a second, about {:.0f} s left", rate, static_cast<double>(todo - done) / rate);
}

// Does the missing shards.
PoolOutcome judge_missing(const Plan& plan, const ShardFolder& folder, const std::vector<std::size_t>& missing,
                          const ShardRun& run, unsigned processes) {
  PoolOptions options;
  options.processes = processes;
  options.interrupted = Interruption::requested;
  Progress progress;
  const auto start = std::chrono::steady_clock::now();
  options.progress = [&](std::size_t done) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    progress.show(progress_line(done, missing.size(), seconds.count()));
  };
  const auto job = [&](std::size_t number) {
    const Shard& shard = plan.shards[missing[number]];
    try {
      const std::string text = to_text(judge_shard(shard, run));
      write_shard_file(folder.path_of(shard), text);
      forget_cached(shard, run);
    } catch (const std::system_error& error) {  // a file cannot be written, as on a full disk
      throw CannotGoOn(error.what());
    }
  };
  return run_in_forks(missing.size(), job, options);
}

// The errors, one per line; the first one decides the exit code.
std::optional<InputError> trouble_of(const Plan& plan, const std::vector<std::size_t>& missing,
                                     const PoolOutcome& outcome) {
  const std::string finished =
      fmt::format("{} of {} shards were finished; the same command goes on from there", outcome.done, missing.size());
  if (!outcome.stopped.empty()) return InputError(usage, fmt::format("campaign: {}; {}", outcome.stopped, finished));
  if (outcome.interrupted) return InputError(undecided, fmt::format("campaign: ended by the user; {}", finished));
  if (outcome.failures.empty()) return std::nullopt;
  const PoolOutcome::Failure& first = outcome.failures.front();
  const std::string& key = plan.shards[missing[first.job]].key;
  const bool died = std::ranges::any_of(outcome.failures, &PoolOutcome::Failure::died);
  return InputError(
      died ? crashed : usage,
      fmt::format("campaign: {} shards could not be judged, the first is {}: {}{}; {}", outcome.failures.size(), key,
                  first.died ? "its process died again and again: " : "", first.what, finished));
}

ExitCode publish_merged(const MergedCampaign& merged, const fs::path& out) {
  const Report report = merged.report();
  const std::string text = to_text(merged);
  std::error_code error;
  fs::create_directories(out, error);
  const auto file = [&](const std::string& name, std::string contents, bool has_report) {
    return OutputFile{"--out", (out / name).string(), std::move(contents), has_report};
  };
  std::vector<OutputFile> files{file("report.txt", text, true), file("report.json", to_json(merged), true),
                                file("report.xml", to_junit(report), true), file("report.html", to_html(merged), true),
                                file("hosts.tsv", hosts_to_tsv(merged), false)};
  for (auto& [name, contents] : adjacent_files(merged)) {
    fs::create_directories((out / name).parent_path(), error);  // writing the file reports the error
    files.push_back(file(name, contents, false));
  }
  return static_cast<ExitCode>(publish(text, report.verdict(), files));
}

int merge_folders(const Plan& plan, const std::vector<std::string>& folders, const fs::path& out) {
  std::vector<ShardFile> files;
  for (const std::string& folder : folders) {
    std::vector<ShardFile> more = ShardFolder(folder).read(plan);
    files.insert(files.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const MergedCampaign merged = as_input_error<MergeError>(malformed, "campaign: ", [&] { return merge(plan, files); });
  if (!merged.missing.empty()) {
    throw InputError(undecided, fmt::format("campaign: {} of {} shards are missing, the first is {}: no report yet",
                                            merged.missing.size(), plan.shards.size(), merged.missing.front()));
  }
  if (merged.hosts.size() > 1) {
    complain("softcheck: machines of {} classes judged, whose answers may differ in slack (hosts.tsv)\n",
             merged.hosts.size());
  }
  return publish_merged(merged, out);
}

bool has_trainings(const Plan& plan) {
  return std::ranges::any_of(plan.shards, [](const Shard& shard) {
    return std::ranges::any_of(
        shard.asked, [](const Question& asked) { return std::holds_alternative<TrainingQuestion>(asked.about); });
  });
}

void make_folder(const std::string& out) {
  std::error_code error;
  fs::create_directories(fs::path(out) / "shards", error);
  if (!fs::is_directory(fs::path(out) / "shards")) {
    throw InputError(usage, fmt::format("--out: need a folder that can be made, got '{}'", out));
  }
}

int run_campaign(CampaignFlags flags) {
  const Plan plan = plan_of(flags.plan);
  if (flags.list) {
    list(plan, flags);
    return holds;
  }
  if (!flags.print.empty()) return print_shard(plan, flags);
  if (flags.out.empty()) throw InputError(usage, "campaign: need --out DIR for results, or --list");
  const std::vector<std::size_t> places = chosen_shards(plan, flags.shard);
  flags.out = fs::absolute(flags.out).string();  // a shard's process changes to the folder of the kernels
  make_folder(flags.out);
  if (flags.kept.empty()) flags.kept = flags.out + "/kept";
  std::error_code error;
  if (has_trainings(plan)) fs::create_directories(flags.kept, error);
  const Interruption interruption;
  const ShardRun run = run_of(plan, flags);
  const ShardFolder folder(flags.out);
  const std::vector<ShardState> states = states_of(plan, flags.out, run);
  std::vector<std::size_t> missing;
  std::map<ShardState, std::size_t> again;
  for (const std::size_t place : places) {
    if (states[place] == ShardState::finished) continue;
    missing.push_back(place);
    ++again[states[place]];
  }
  if (again.contains(ShardState::damaged)) {
    complain("softcheck: {} damaged shards are judged again\n", again[ShardState::damaged]);
  }
  if (again.contains(ShardState::other)) {
    complain("softcheck: {} shards of another commit, library or checkpoint are judged again\n",
             again[ShardState::other]);
  }
  const PoolOutcome outcome = judge_missing(plan, folder, missing, run, flags.processes);
  if (const std::optional<InputError> trouble = trouble_of(plan, missing, outcome)) throw InputError(*trouble);
  fs::remove(flags.kept, error);  // succeeds only if it is empty
  if (flags.shard.empty()) return merge_folders(plan, {flags.out}, flags.out);
  say("{} of {} shards of share {} were judged now, all are finished\n", outcome.done, places.size(), flags.shard);
  return holds;
}

int run_merge(const MergeFlags& flags) {
  const Plan plan = plan_of(flags.plan);
  for (const std::string& folder : flags.folders) {
    std::error_code error;
    if (fs::is_directory(folder, error)) continue;
    throw InputError(usage, fmt::format("campaign merge: need a folder of a campaign, got '{}'", folder));
  }
  return merge_folders(plan, flags.folders, flags.out.empty() ? flags.folders.front() : flags.out);
}

void add_merge_verb(Verb campaign) {
  auto [verb, flags] = campaign.add_verb<MergeFlags>(
      "merge", "The report of a plan, from the folders of all who judged its shards", run_merge);
  verb.add_option("plan", flags.plan, "The plan that they judged", typed("PLAN"), required);
  verb.add_option("folder", flags.folders, "What was their --out", typed("DIR"), required);
  verb.add_option("--out", flags.out, "Folder of the report (default: the first DIR)", typed("DIR"));
}

}  // namespace

void add_campaign_verb(Verb app) {
  auto [verb, flags] = app.add_verb<CampaignFlags>(
      "campaign", "Judge kernels, certify models and train networks by a plan, in shards that machines can share",
      run_campaign);
  verb.may_have_subcommand();
  verb.add_option("plan", flags.plan, "Kernels, models and trainings, in TOML", typed("PLAN"));
  verb.add_option("--out", flags.out, "Folder of the results: shards/ and the report; what is finished there stays",
                  typed("DIR"));
  verb.add_option("--kernels", flags.kernels,
                  "The folder that the plan's libraries and models are named from (default: the plan's)", typed("DIR"));
  verb.add_option("--shard", flags.shard, "Judge the I-th of N shares of the shards, and merge nothing", typed("I/N"));
  verb.add_flag("--list", flags.list,
                "Print key, state in --out, number of questions and the first question of each shard");
  verb.add_option("--kept", flags.kept, "Where trainings keep what they have until they end (default: kept in --out)",
                  typed("DIR"));
  verb.add_option("--print", flags.print, "Answer this shard and print its file: for schedulers", typed("KEY"));
  flags.processes = std::max(std::thread::hardware_concurrency(), 1U);
  verb.add_option("--processes", flags.processes,
                  "Shards that are judged at a time [one a core]; no result depends on it", within(1, 1024));
  add_merge_verb(verb);
}

}  // namespace softcheck::cli
