// Any bytes as a table of tokens and a text: contradictory tables are refused; with the others a text
// gives the same ids at once, by lines, in parts and on threads.
#include <algorithm>
#include <exception>
#include <string>

#include "base/unicode.hpp"
#include "counting/count.hpp"
#include "input.hpp"
#include "proposing/merge.hpp"
#include "tokenizing/line_encoder.hpp"

namespace {

// A vocabulary in columns, as the bindings pass it on.
struct Tokens {
  std::vector<uint8_t> text, kinds, marks;
  std::vector<uint64_t> offsets{0}, ranks;
  std::vector<uint32_t> left, right;
  std::vector<double> scores;

  void add(const uint8_t* begin, size_t bytes, volt::TokenKind kind, uint8_t mark = 0, uint32_t first = 0,
           uint32_t second = 0, double score = 0) {
    text.insert(text.end(), begin, begin + bytes);
    offsets.push_back(text.size());
    kinds.push_back(static_cast<uint8_t>(kind));
    marks.push_back(mark);
    ranks.push_back(kinds.size());
    left.push_back(first);
    right.push_back(second);
    scores.push_back(score);
  }
  volt::TokenView view(size_t visible, uint32_t unknown, bool fuse) const {
    return {text.data(), offsets.data(), kinds.data(), marks.data(), left.data(), right.data(),
            ranks.data(), scores.data(), kinds.size(), visible, unknown, fuse};
  }
};

// Byte tokens, then what the merges of the text make: always a good vocabulary.
void add_learned(Tokens& tokens, volt::Pretokenizer pretokenizer, const Input& text, bool pieces) {
  volt::Counter counter(pretokenizer, 64, 1, 0);
  if (counter.feed(text.data, text.size, true, 1).invalid_at >= 0) throw std::invalid_argument("no UTF-8");
  const volt::WordList words = counter.finish(1);
  volt::MergeOptions options{pretokenizer, 60};
  const volt::WordView view{words.text.data(), words.offsets.data(), words.counts.data(), words.counts.size()};
  const volt::MergeResult found = volt::learn_merges(view, options, [](uint64_t) {});
  const uint32_t base = static_cast<uint32_t>(tokens.kinds.size());
  const size_t alphabet = found.alphabet_counts.size();
  for (size_t t = 0; t + 1 < found.offsets.size(); ++t) {
    const bool merged = t >= alphabet;
    const size_t m = t - alphabet;
    tokens.add(found.text.data() + found.offsets[t], found.offsets[t + 1] - found.offsets[t],
               !merged ? volt::TokenKind::character : pieces ? volt::TokenKind::piece : volt::TokenKind::merged,
               found.word_final[t], merged ? base + found.left[m] : 0, merged ? base + found.right[m] : 0,
               -1.0 / static_cast<double>(t + 1));
  }
}

// Rows of kind, mark, length, parents and text: whatever the fuzzer likes.
void add_raw(Tokens& tokens, Input& input) {
  for (unsigned rows = input.byte() % 24; rows > 0 && input.size > 0; --rows) {
    const auto kind = static_cast<volt::TokenKind>(input.byte() % 8);
    const uint8_t mark = input.byte() % 3, first = input.byte(), second = input.byte();
    const size_t bytes = std::min<size_t>(input.byte() % 6, input.size);
    tokens.add(input.data, bytes, kind, mark, first, second, static_cast<int8_t>(first));
    input.data += bytes;
    input.size -= bytes;
  }
}

std::vector<uint32_t> by_lines(const volt::Encoder& encoder, const Input& text, const volt::Dropout& dropout,
                               size_t step, unsigned threads, bool documents) {
  volt::LineEncoder lines(encoder, {}, dropout, threads, documents);
  size_t done = 0, have = 0;
  for (bool last = false; !last;) {
    have += std::min(step, text.size - done - have);
    last = done + have == text.size;
    const volt::FeedResult fed = lines.feed(text.data + done, have, last);
    promise(fed.invalid_at < 0, "valid text is not refused");
    lines.collect();
    done += fed.consumed;
    have -= fed.consumed;
  }
  promise(have == 0, "the last part is consumed");
  const volt::IdBuffer& ids = lines.collected();
  return {ids.data(), ids.data() + ids.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const volt::Pretokenizer pretokenizer = input.pretokenizer();
  const uint8_t flags = input.byte();
  volt::Matching matching;
  matching.encoding = static_cast<volt::Encoding>(input.byte() % 3);
  matching.marks_start = flags & 1;
  matching.single = flags & 2;
  matching.restart = flags & 4;
  matching.longest_word = flags & 8 ? 5 : 0;
  matching.unknown_score = -10;
  const bool merges = matching.encoding == volt::Encoding::merge;
  const volt::Dropout dropout{merges && input.byte() % 4 == 0 ? 0.3 : 0.0, 7};
  const size_t step = 1 + input.byte();
  try {
    Tokens tokens;
    const uint8_t unknown_name[] = "<unk>";
    tokens.add(unknown_name, 5, volt::TokenKind::special);
    if (flags & 16) {
      for (unsigned b = 0; b < 256 && (flags & 32); ++b) {
        const auto byte = static_cast<uint8_t>(b);
        tokens.add(&byte, 1, volt::TokenKind::byte);
      }
      add_raw(tokens, input);
    } else {
      Input part{input.data, input.size / 2};
      while (part.size > 0 && part.size < input.size && volt::is_continuation(input.data[part.size])) --part.size;
      add_learned(tokens, pretokenizer, part, !merges);
    }
    const size_t visible = tokens.kinds.size() - (merges && flags & 64 && tokens.kinds.size() > 40 ? 8 : 0);
    const auto rule = flags & 128 ? volt::MergeRule::pairs : volt::MergeRule::concat;
    const volt::Encoder encoder(pretokenizer, rule, matching, tokens.view(visible, 0, flags & 32));
    matching.part = 1 + step % 32;  // of long words, which have more than 256 KiB elsewhere
    const volt::Encoder parted(pretokenizer, rule, matching, tokens.view(visible, 0, flags & 32));
    if (volt::find_invalid_utf8(input.data, input.data + input.size)) return 0;

    // A line is all up to its line feed.
    std::vector<volt::TextView> texts;
    for (const uint8_t *begin = input.data, *end = input.data + input.size; begin < end;) {
      const uint8_t* stop = std::find(begin, end, '\n');
      texts.push_back({begin, static_cast<size_t>(stop - begin)});
      begin = stop + 1;
    }
    volt::IdBuffer ids;
    std::vector<uint64_t> ends;
    encoder.encode(texts.data(), texts.size(), 0, {nullptr, dropout}, 1, ids, ends);
    promise(ends.size() == texts.size(), "an end for every text");
    const std::vector<uint32_t> expected(ids.data(), ids.data() + ids.size());
    for (const uint32_t id : expected) promise(id < visible, "no hidden token comes out");
    promise(by_lines(encoder, input, dropout, input.size + 1, 1, false) == expected, "lines are texts");
    const unsigned threads = step % 8 == 0 ? 2 : 1;  // they take long to start
    const std::vector<uint32_t> document = by_lines(encoder, input, dropout, input.size + 1, 1, true);
    promise(by_lines(parted, input, dropout, input.size + 1, 1, true) == document, "words in parts are whole");
    for (const volt::Encoder* one : {&encoder, &parted}) {
      promise(by_lines(*one, input, dropout, step, threads, false) == expected,
              "parts and threads change nothing");
      promise(by_lines(*one, input, dropout, step, threads, true) == document, "nor do they in documents");
    }
  } catch (const std::exception&) {
    // Refused, in words.
  }
  return 0;
}
