#pragma once

#include <string>
#include <string_view>

namespace softcheck::proptests {

/// The begin of an HTML page up to `body`: it may load nothing and run no script, whatever stands in it. The caller
/// closes body and html. A cell has the class of its verdict, or `left`.
///
/// title   as text
std::string page_head(std::string_view title);

}  // namespace softcheck::proptests
