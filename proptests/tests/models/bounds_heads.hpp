#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/bounds/certify_checkpoint.hpp"

// Heads whose matrices a test chooses: a checkpoint in memory, and the same head written out once more.
namespace softcheck::proptests {

class MemoryCheckpoint : public models::Checkpoint {
 public:
  MemoryCheckpoint() : Checkpoint("memory", "memory", models::Config::parse("{}", "memory")) {}

  /// A vector is a matrix of one row.
  void put(const std::string& name, const Eigen::MatrixXd& values, double radius = 0) {
    models::StoredTensor tensor{name, "F64", {values.rows(), values.cols()}};
    if (values.rows() == 1) tensor.shape = {values.cols()};
    tensors_[name] = {tensor, {values, radius}};
  }
  const models::StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(std::string(name));
    return found == tensors_.end() ? nullptr : &found->second.first;
  }
  std::vector<std::string> names() const override { return {}; }
  models::TensorBlock read(const models::StoredTensor& tensor, models::IndexRange rows,
                           models::IndexRange columns) const override {
    if (tensor.name == broken) throw models::TensorFileError("memory: broken");
    const models::TensorBlock& block = tensors_.at(tensor.name).second;
    return {block.values.block(rows.first, columns.first, rows.count, columns.count), block.radius};
  }

  std::string broken;  // a tensor that cannot be read

 private:
  std::map<std::string, std::pair<models::StoredTensor, models::TensorBlock>> tensors_;
};

/// A head behind a norm; vectors of no entries are left out of the checkpoint.
struct DrawnHead {
  models::NormKind kind = models::NormKind::layer_norm;
  Eigen::MatrixXd query, key;  // (dh, d)
  Eigen::VectorXd query_bias, key_bias, gain, offset;
  double scale = 1;

  Eigen::Index width() const { return query.cols(); }
  Eigen::VectorXd shift() const { return offset.size() != 0 ? offset : Eigen::VectorXd::Zero(width()); }
  /// A of q = A z + a.
  Eigen::MatrixXd linear(const Eigen::MatrixXd& w) const {
    Eigen::MatrixXd folded = gain.size() != 0 ? Eigen::MatrixXd(w * gain.asDiagonal()) : w;
    if (kind == models::NormKind::layer_norm) {
      const Eigen::VectorXd means = folded.rowwise().mean();
      folded.colwise() -= means;
    }
    return folded;
  }
  Eigen::VectorXd constant(const Eigen::MatrixXd& w, const Eigen::VectorXd& bias) const {
    const Eigen::VectorXd moved = w * shift();
    return bias.size() != 0 ? Eigen::VectorXd(moved + bias) : moved;
  }
};

struct HeadInMemory {
  MemoryCheckpoint checkpoint;
  models::ModelDescription model;
  models::HeadDescription head;

  explicit HeadInMemory(const DrawnHead& drawn) {
    const auto vector = [&](const char* name, const Eigen::VectorXd& values) {
      models::VectorPlace place;
      if (values.size() == 0) return place;
      checkpoint.put(name, values.transpose());
      return models::VectorPlace{name, {0, values.size()}};
    };
    checkpoint.put("q", drawn.query);
    checkpoint.put("k", drawn.key);
    head.query = {"q", {0, drawn.query.rows()}};
    head.key = {"k", {0, drawn.key.rows()}};
    head.query_bias = vector("q.bias", drawn.query_bias);
    head.key_bias = vector("k.bias", drawn.key_bias);
    head.input_norm = models::InputNorm{drawn.kind, vector("gain", drawn.gain), vector("offset", drawn.offset)};
    head.scale = numerics::Enclosure(drawn.scale);
    model.architecture = "drawn";
    model.layers = model.heads = model.key_heads = 1;
    model.hidden = drawn.width();
    model.head_dim = drawn.query.rows();
    model.context = 512;
  }
  models::HeadCertificate certify(const models::CertifyOptions& options = {}) const {
    models::HeadReader reader(checkpoint);
    return models::certify_head(head, model, reader, options);
  }
};

struct Drawing {
  std::mt19937_64 random;
  explicit Drawing(std::uint64_t seed) : random(seed) {}
  Eigen::MatrixXd matrix(Eigen::Index rows, Eigen::Index columns) {
    std::normal_distribution<double> normal;
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
  }
  Eigen::VectorXd vector(Eigen::Index size) { return matrix(size, 1); }
  Eigen::Index below(Eigen::Index count) {
    return static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(count));
  }
  DrawnHead head(Eigen::Index head_dim, Eigen::Index d, models::NormKind kind, bool biases) {
    DrawnHead drawn{kind, matrix(head_dim, d), matrix(head_dim, d), {}, {}, vector(d), {}, 0.5};
    if (biases) {
      drawn.query_bias = vector(head_dim);
      drawn.key_bias = 3 * vector(head_dim);
      drawn.offset = vector(d);
    }
    return drawn;
  }
};

}  // namespace softcheck::proptests
