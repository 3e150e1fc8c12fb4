#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {

/// A condition under which a model is refused: "spread.best > 80", "logit.f16 > 65504", "entropy_floor < 0.1".
///
/// A gate closes where its condition is not certainly excluded: '>' and '>=' look at the certified upper end, '<' and
/// '<=' at the lower one.
class Gate {
 public:
  /// text     FIELD OP NUMBER; FIELD one of fields(), OP one of > >= < <=
  /// throws   std::invalid_argument saying what it needs
  static Gate parse(const std::string& text);
  /// What a gate can ask about.
  static std::vector<std::string> fields();

  const std::string& text() const { return text_; }
  bool closes(const HeadCertificate& head) const;
  /// "fail-if TEXT": proved where it does not close, violated where it does.
  numerics::Certificate certify(const HeadCertificate& head) const;
  /// The number of the head that the gate looks at.
  double value(const HeadCertificate& head) const;

 private:
  std::string text_;
  std::size_t field_ = 0;
  bool above_ = true;
  bool or_equal_ = false;
  double limit_ = 0;
};

}  // namespace softcheck::models
