#include "counting/words.hpp"

#include "counting/cuts.hpp"
#include "counting/scan.hpp"

namespace volt {

std::vector<std::string> words_of(Pretokenizer pretokenizer, std::string_view text) {
  struct ListSink {
    const bool marks_spaces;
    std::vector<std::string> words;
    void operator()(const uint8_t* begin, const uint8_t* end, bool prefix, bool) {
      std::string& word = words.emplace_back();
      const bool space = prefix || (begin < end && *begin == ' ');
      if (marks_spaces && space) {
        word.assign(reinterpret_cast<const char*>(kSpaceMarkText), kSpaceMarkBytes);
        begin += !prefix;
      }
      word.append(reinterpret_cast<const char*>(begin), end - begin);
    }
    void cut() {}
    void reserved() {}
  };
  ListSink sink{pretokenizer == Pretokenizer::metaspace, {}};
  LineState state;
  const auto* begin = reinterpret_cast<const uint8_t*>(text.data());
  scan_words(pretokenizer, begin, begin + text.size(), state, true, 0xFFFFFFFF, sink);
  return std::move(sink.words);
}

std::vector<uint64_t> cuts_of(Pretokenizer pretokenizer, std::string_view text) {
  std::vector<uint64_t> cuts;
  const auto* begin = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 1; i < text.size(); ++i)
    if (may_cut(pretokenizer, begin, begin + i)) cuts.push_back(i);
  return cuts;
}

}  // namespace volt
