// Any bytes as lines or as a document: words are counted alike however the text is cut into parts and
// whatever the number of threads, two documents at once like one after the other, and a written list of
// words is read back.
#include <algorithm>
#include <string>

#include "base/unicode.hpp"
#include "counting/word_file.hpp"
#include "input.hpp"

namespace {

struct Settings {
  volt::Pretokenizer pretokenizer;
  uint32_t max_word_length;
  uint64_t max_types;
  bool documents;
};

// All of the text, at most `step` bytes more at a time. False: it is not UTF-8.
bool feed(volt::Counter& counter, const Input& text, size_t step) {
  size_t done = 0, have = 0;
  while (true) {
    const size_t more = std::min(step, text.size - done - have);
    have += more;
    const bool last = done + have == text.size;
    const volt::FeedResult fed = counter.feed(text.data + done, have, last, 1);
    if (fed.invalid_at >= 0) {
      promise(static_cast<size_t>(fed.invalid_at) < have, "the invalid byte is in the text");
      return false;
    }
    promise(fed.consumed <= have, "no more is consumed than there is");
    done += fed.consumed;
    have -= fed.consumed;
    if (last) {
      promise(have == 0, "the last part is consumed");
      return true;
    }
  }
}

std::string written(volt::Counter& counter) {
  const volt::WordList words = counter.finish(1);
  return volt::write_words(words.text.data(), words.offsets.data(), words.counts.data(), words.counts.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const volt::Pretokenizer pretokenizer = input.pretokenizer();
  const uint32_t max_word_length = 2u + input.byte() % 70u;
  const uint8_t flags = input.byte();
  const bool documents = volt::is_byte_level(pretokenizer) && flags & 8;
  const Settings rule{pretokenizer, max_word_length, flags % 8u == 0 ? 3u : 0u, documents};
  const size_t step = 1 + input.byte();
  volt::Counter whole(rule.pretokenizer, rule.max_word_length, 1, rule.max_types, documents);
  const bool valid = feed(whole, input, input.size + 1);
  promise(valid == (volt::find_invalid_utf8(input.data, input.data + input.size) == nullptr),
          "text is refused if and only if it is not UTF-8");
  const unsigned threads = step % 8 == 0 ? 2 : 1;  // they take long to start
  volt::Counter parts(rule.pretokenizer, rule.max_word_length, threads, rule.max_types, documents);
  promise(feed(parts, input, step) == valid, "parts are refused like the whole");
  if (!valid || rule.max_types != 0) return 0;

  // Two documents in one batch.
  size_t half = input.size / 2;
  while (half > 0 && volt::is_continuation(input.data[half])) --half;
  volt::Counter batch(rule.pretokenizer, rule.max_word_length, threads, 0, documents);
  volt::Counter apart(rule.pretokenizer, rule.max_word_length, 1, 0, documents);
  batch.feed_documents(input.data, {half, input.size}, 1);
  apart.feed_documents(input.data, {half}, 1);
  apart.feed_documents(input.data + half, {input.size - half}, 1);
  promise(written(batch) == written(apart), "documents are counted each by itself");

  const uint64_t occurrences = whole.totals().words;
  const std::string list = written(whole);
  promise(list == written(parts), "parts give the words of the whole");
  volt::Counter again(rule.pretokenizer, rule.max_word_length, 1, 0, documents);
  const auto* bytes = reinterpret_cast<const uint8_t*>(list.data());
  const volt::ReadResult read = volt::read_words(again, bytes, list.size(), true, 1);
  promise(read.problem.empty() && read.consumed == list.size(), "a written list can be read");
  promise(again.totals().words == occurrences && written(again) == list, "and is the same list");
  return 0;
}
