#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::experiments {

/// A picture as gnuplot's commands. Their data are in inline blocks, so that no command names a file.
struct Picture {
  std::string name;  // of its files, without the ending for SVG or PNG: letters, digits and _
  int width = 900;   // in pixels
  int height = 560;
  std::string script;
};

/// What `softcheck run figure-N` writes: tables and pictures of them.
struct Table {
  std::string name;  // of its file, without .csv
  std::string csv;   // a line of names first
};
struct Figure {
  std::vector<Table> tables;
  std::vector<Picture> pictures;
};

/// gnuplot is not there.
class GnuplotMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The picture in SVG, or in PNG (twice as many pixels a side), drawn by a child process: no shell and no file.
///
/// throws   GnuplotMissing; std::runtime_error with gnuplot's own words when it fails or warns
std::string to_svg(const Picture& picture);
std::string to_png(const Picture& picture);

/// Orders: the table as a block of data that `plot` finds by $NAME, its columns by their names.
std::string data_block(const std::string& name, const std::string& csv);

/// The palette of Okabe and Ito, which colour-blind people can tell apart, in the order used here.
enum class Colour { blue, vermillion, green, orange, sky, purple, black };
const char* code_of(Colour colour);

/// A text as gnuplot's, quoted.
std::string quoted(const std::string& text);

}  // namespace softcheck::experiments
