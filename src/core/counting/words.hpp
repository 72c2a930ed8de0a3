// The words of one text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counting/pretokenizer.hpp"

namespace volt {

// The words of valid UTF-8, in which a line end is text like any other.
std::vector<std::string> words_of(Pretokenizer pretokenizer, std::string_view text);

// Where in valid UTF-8 a document may be cut in two (cuts.hpp), in bytes.
std::vector<uint64_t> cuts_of(Pretokenizer pretokenizer, std::string_view text);

}  // namespace volt
