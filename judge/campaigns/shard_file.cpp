#include "judge/campaigns/shard_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "experiments/sha256.hpp"
#include "models/read/element_format.hpp"
#include "models/report/layer_tensors.hpp"

namespace softcheck::proptests {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "softcheck campaign shard 2";
// A line, an answer, a layer, its heads, a head, its intervals, their ends. A limit, since the JSON library writes and
// copies by recursion.
constexpr int deepest_nesting = 32;

[[noreturn]] void damaged(const std::string& what) { throw std::invalid_argument("shard file: " + what); }

// Exact text for every double, including infinities and NaN.
std::string hex(double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%a", value);
  return text.data();
}

double double_of(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') damaged("need a number, got '" + text + "'");
  return value;
}

Json lines(const std::vector<std::string>& texts) {
  Json result = Json::array();
  for (const std::string& text : texts) result.push_back(printable_utf8(text));
  return result;
}

Json row_json(const ReportRow& row) {
  Json json;
  json["claim"] = row.claim;
  json["subject"] = printable_utf8(row.subject);
  json["cases"] = row.cases;
  json["slack"] = hex(row.slack);
  json["verdict"] = to_string(row.verdict);
  json["details"] = lines(row.details);
  if (!row.verbose.empty()) json["verbose"] = lines(row.verbose);
  json["not_tried"] = lines(row.not_tried);
  if (row.errors) {
    const ErrorStatistics& e = *row.errors;
    json["errors"] = {e.values,         hex(e.largest_share),      hex(e.worst_ulps),
                      hex(e.bias_ulps), hex(e.worst_allowed_ulps), printable_utf8(e.worst_witness)};
  }
  return json;
}

ReportVerdict verdict_of(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(ReportVerdict::pass); ++i) {
    if (word == to_string(static_cast<ReportVerdict>(i))) return static_cast<ReportVerdict>(i);
  }
  damaged("need a verdict, got '" + word + "'");
}

ReportRow row_of(const Json& json) {
  ReportRow row;
  json.at("claim").get_to(row.claim);
  json.at("subject").get_to(row.subject);
  json.at("cases").get_to(row.cases);
  row.slack = double_of(json.at("slack"));
  row.verdict = verdict_of(json.at("verdict").get<std::string>());
  row.seconds = std::numeric_limits<double>::quiet_NaN();
  json.at("details").get_to(row.details);
  if (const auto found = json.find("verbose"); found != json.end()) found->get_to(row.verbose);
  json.at("not_tried").get_to(row.not_tried);
  if (const auto found = json.find("errors"); found != json.end()) {
    ErrorStatistics& e = row.errors.emplace();
    found->at(0).get_to(e.values);
    e.largest_share = double_of(found->at(1));
    e.worst_ulps = double_of(found->at(2));
    e.bias_ulps = double_of(found->at(3));
    e.worst_allowed_ulps = double_of(found->at(4));
    found->at(5).get_to(e.worst_witness);
  }
  return row;
}

Json network_json(const TrainedNetwork& network) {
  Json json;
  json["seed"] = network.seed;
  json["instructions"] = network.instructions;
  json["sha256"] = network.sha256();
  json["metrics"] = Json::array();
  for (const auto& [name, value] : network.metrics) json["metrics"].push_back({name, hex(value)});
  json["files"] = Json::array();
  for (const auto& [name, bytes] : network.files) json["files"].push_back({name, base64(bytes)});
  return json;
}

TrainedNetwork network_of(const Json& json) {
  TrainedNetwork network;
  json.at("seed").get_to(network.seed);
  json.at("instructions").get_to(network.instructions);
  for (const Json& metric : json.at("metrics")) {
    network.metrics.emplace_back(metric.at(0).get<std::string>(), double_of(metric.at(1)));
  }
  for (const Json& file : json.at("files")) {
    network.files[file.at(0).get<std::string>()] = bytes_of_base64(file.at(1).get_ref<const std::string&>());
  }
  if (json.at("sha256") != network.sha256()) damaged("a network's SHA-256 is not that of its file");
  return network;
}

Json answer_json(const JudgedAnswer& answer) {
  Json json;
  json["asked"] = printable_utf8(answer.asked);
  json["source"] = answer.source_sha256;
  json["rows"] = Json::array();
  for (const ReportRow& row : answer.rows) json["rows"].push_back(row_json(row));
  if (!answer.checkpoint_sha256.empty()) json["checkpoint"] = answer.checkpoint_sha256;
  if (!answer.layer.empty()) json["layer"] = Json::parse(answer.layer);
  if (answer.network) json["network"] = network_json(*answer.network);
  return json;
}

JudgedAnswer answer_of(const Json& line) {
  JudgedAnswer answer;
  const Json& told = line.at("answer");
  told.at("asked").get_to(answer.asked);
  told.at("source").get_to(answer.source_sha256);
  for (const Json& row : told.at("rows")) answer.rows.push_back(row_of(row));
  if (told.contains("checkpoint")) told.at("checkpoint").get_to(answer.checkpoint_sha256);
  if (told.contains("layer")) answer.layer = told.at("layer").dump();
  if (told.contains("network")) answer.network = network_of(told.at("network"));
  const Json& machine = line.at("machine");
  machine.at("seconds").get_to(answer.seconds);
  machine.at("isolation").get_to(answer.isolation);
  machine.at("printed").get_to(answer.printed);
  machine.at("resumed_at").get_to(answer.resumed_at);
  return answer;
}

/// Removes the next line from the text and returns it; throws if its end is missing.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) damaged("it was cut off");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

Json parsed_line(std::string_view line) {
  return Json::parse(line, [](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest_nesting) damaged("a line of it nests deeper than " + std::to_string(deepest_nesting));
    return true;
  });
}

ShardFile read_lines(std::string_view text) {
  const std::string_view whole = text;
  const Json head = parsed_line(next_line(text));
  if (head.at("format") != format_name) damaged("need a file of the format '" + std::string(format_name) + "'");
  ShardFile file;
  head.at("shard").get_to(file.key);
  head.at("plan").get_to(file.plan);
  head.at("version").get_to(file.version);
  head.at("commit").get_to(file.commit);
  head.at("host").get_to(file.host);
  const auto count = head.at("answers").get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) file.answers.push_back(answer_of(parsed_line(next_line(text))));
  const std::size_t before = whole.size() - text.size();
  const Json end = parsed_line(next_line(text));
  if (end.at("end") != count || !text.empty()) damaged("its end is not that of " + std::to_string(count) + " answers");
  if (end.at("sha256") != experiments::sha256(whole.substr(0, before))) damaged("it was changed");
  return file;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t group_bytes = 3, group_digits = 4;

constexpr std::uint64_t sampled_bytes = 4096;
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

/// Hashes piece by piece, so that no tensor is in memory as a whole.
models::BytePieces add_hashes_to(std::string& line) {
  return [&line](std::span<const std::byte> piece) {
    line += " " + experiments::sha256(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
  };
}

std::string line_of(const models::Checkpoint& file, const models::StoredTensor& tensor, std::uint64_t most) {
  std::string line = tensor.name + " " + tensor.dtype;
  for (const std::int64_t size : tensor.shape) line += " " + std::to_string(size);
  // Some checkpoints contain types that are never read, such as a boolean causal mask.
  const bool known = models::find_element_format(tensor.dtype) != nullptr;
  if (known) models::read_stored_bytes(file, tensor, most, add_hashes_to(line));
  return line + "\n";
}

}  // namespace

std::string TrainedNetwork::sha256() const {
  const auto found = files.find(network_file);
  return found == files.end() ? "" : experiments::sha256(found->second);
}

std::string to_text(const ShardFile& file) {
  Json head;
  head["format"] = format_name;
  head["shard"] = file.key;
  head["plan"] = file.plan;
  head["version"] = file.version;
  head["commit"] = file.commit;
  head["host"] = printable_utf8(file.host);
  head["answers"] = file.answers.size();
  std::string text = head.dump() + "\n";
  for (const JudgedAnswer& answer : file.answers) {
    Json line;
    line["answer"] = answer_json(answer);
    line["machine"] = {{"seconds", answer.seconds},
                       {"isolation", printable_utf8(answer.isolation)},
                       {"printed", lines(answer.printed)},
                       {"resumed_at", answer.resumed_at}};
    text += line.dump() + "\n";
  }
  Json end;
  end["end"] = file.answers.size();
  end["sha256"] = experiments::sha256(text);
  return text + end.dump() + "\n";
}

std::string answer_text(const JudgedAnswer& answer) { return answer_json(answer).dump(); }

ShardFile parse_shard_file(std::string_view text) {
  try {
    return read_lines(text);
  } catch (const nlohmann::json::exception&) {
    damaged("a line of it is not what a shard's file has there");
  }
}

void write_shard_file(const std::filesystem::path& path, std::string_view text) {
  // The host's name, too: machines that share a folder may have equal process ids.
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::filesystem::path auxiliary =
      path.parent_path() / ("." + path.filename().string() + "." + host.data() + "." + std::to_string(::getpid()));
  const auto fail = [&](const std::filesystem::path& what) {
    const int reason = errno;
    ::unlink(auxiliary.c_str());
    throw std::system_error(reason, std::generic_category(), "cannot write " + what.string());
  };
  constexpr mode_t everyone_reads = 0644;
  {
    const Descriptor file(::open(auxiliary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, everyone_reads));
    if (file.number() < 0 || !write_all(file.number(), text) || ::fsync(file.number()) != 0) fail(path);
  }
  if (::rename(auxiliary.c_str(), path.c_str()) != 0) fail(path);
  // Sync the new name as well; some network file systems do not support that.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0) ::fsync(opened.number());
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + group_bytes - 1) / group_bytes * group_digits);
  for (std::size_t at = 0; at < bytes.size(); at += group_bytes) {
    const std::string_view group = bytes.substr(at, group_bytes);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < group_bytes; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < group_digits; ++i) {
      text += i <= group.size() ? base64_digits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string bytes_of_base64(std::string_view text) {
  if (text.size() % group_digits != 0) throw std::invalid_argument("base64: need groups of four characters");
  std::string bytes;
  bytes.reserve(text.size() / group_digits * group_bytes);
  for (std::size_t at = 0; at < text.size(); at += group_digits) {
    const std::string_view group = text.substr(at, group_digits);
    const std::size_t padding = at + group_digits < text.size() || group[3] != '=' ? 0 : group[2] == '=' ? 2 : 1;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < group_digits; ++i) {
      const std::size_t digit = i < group_digits - padding ? base64_digits.find(group[i]) : 0;
      if (digit == std::string_view::npos) throw std::invalid_argument("base64: need letters, digits, + and /");
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i < group_bytes - padding; ++i) bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
  }
  return bytes;
}

CheckpointDigests checkpoint_digests(const models::Checkpoint& file, const models::ModelDescription& model, int layer,
                                     bool vocabulary) {
  std::string head = file.format();
  models::read_description_bytes(file, add_hashes_to(head));
  head += "\n";
  std::string all = head, read = head;
  for (const std::string& name : file.names()) all += line_of(file, *file.find(name), sampled_bytes);
  for (const std::string& name : models::tensors_of_layer(model, layer, vocabulary)) {
    read += line_of(file, *file.find(name), all_bytes);
  }
  return {experiments::sha256(all), experiments::sha256(read)};
}

}  // namespace softcheck::proptests
