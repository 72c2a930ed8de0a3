#include "proposing/cuts.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kSpaceMark = 0x2581;

template <class Append>
void append_unknown(const UnknownCharacter& unknown, const uint8_t* p, size_t bytes, const Append& append) {
  if (unknown.first_byte == kNoToken) return append(unknown.token);
  if (unknown.spaces && bytes == 3 && decode(p).code_point == kSpaceMark)
    return append(unknown.first_byte + ' ');
  for (size_t i = 0; i < bytes; ++i) append(unknown.first_byte + p[i]);
}

// Cut the words on several threads. `make_cutter()` gives each of them a function (word, out) that appends
// the tokens of a word.
template <class MakeCutter>
CutWords cut_words(size_t words, unsigned threads, const MakeCutter& make_cutter) {
  CutWords found;
  found.offsets.assign(words + 1, 0);
  std::vector<HugeVector<uint32_t>> partial(threads);
  const auto first = [&](unsigned share) { return words * share / threads; };
  run_parallel(threads, [&](unsigned share) {
    auto cutter = make_cutter();
    for (size_t w = first(share); w < first(share + 1); ++w) {
      poll();
      cutter(w, partial[share]);
      found.offsets[w + 1] = partial[share].size();
    }
  });
  found.tokens = std::move(partial[0]);
  for (unsigned share = 1; share < threads; ++share) {
    for (size_t w = first(share); w < first(share + 1); ++w) found.offsets[w + 1] += found.tokens.size();
    found.tokens.insert(found.tokens.end(), partial[share].begin(), partial[share].end());
    partial[share] = {};
  }
  return found;
}

// The symbols of words, looked up by character.
class SymbolTable {
 public:
  explicit SymbolTable(const SymbolView& symbols) : view_(symbols) {
    for (size_t s = 0; s < symbols.size; ++s) {
      const uint32_t character = symbols.characters[s];
      if (character == kNoToken) continue;
      const size_t place = place_of(character, symbols.ends[s] != 0);
      if (place >= symbol_of_.size()) symbol_of_.resize(place + 1, kNoToken);
      symbol_of_[place] = static_cast<uint32_t>(s);
    }
  }

  void spell(const uint8_t* p, const uint8_t* end, const UnknownCharacter& unknown,
             std::vector<uint32_t>& out) const {
    while (p < end) {
      const Decoded d = view_.byte_level ? Decoded{*p, 1} : decode(p);
      const size_t place = place_of(d.code_point, view_.marks_end && p + d.bytes == end);
      const uint32_t symbol = place < symbol_of_.size() ? symbol_of_[place] : kNoToken;
      if (symbol != kNoToken) out.push_back(symbol);
      else append_unknown(unknown, p, d.bytes, [&](uint32_t token) { out.push_back(token); });
      p += d.bytes;
    }
  }

 private:
  static size_t place_of(uint32_t character, bool ends) { return 2 * size_t{character} + ends; }
  SymbolView view_;
  std::vector<uint32_t> symbol_of_;
};

// Merges the symbols of words, on one thread.
class Merger {
 public:
  Merger(const PairTable& ranks, size_t alphabet) : ranks_(ranks), alphabet_(static_cast<uint32_t>(alphabet)) {}

  // Replace the symbols of a word by its tokens.
  void merge(std::vector<uint32_t>& word) { word.size() <= kFew ? merge_few(word) : merge_many(word); }

 private:
  static constexpr size_t kFew = 32;  // up to this many symbols a scan is faster than a heap

  // Look for the best pair before every merge.
  void merge_few(std::vector<uint32_t>& word) {
    size_t size = word.size();
    uint32_t* ids = word.data();
    uint32_t ranks[kFew];
    for (size_t i = 0; i + 1 < size; ++i) ranks[i] = ranks_.find(ids[i], ids[i + 1]);
    for (;;) {
      uint64_t best = ~uint64_t{0};  // rank and place: the leftmost on a tie
      for (size_t i = 0; i + 1 < size; ++i) best = std::min(best, uint64_t{ranks[i]} << 32 | i);
      const auto rank = static_cast<uint32_t>(best >> 32), at = static_cast<uint32_t>(best);
      if (rank == kNoToken) break;
      ids[at] = alphabet_ + rank;
      --size;
      for (size_t i = at + 1; i < size; ++i) {
        ids[i] = ids[i + 1];
        ranks[i - 1] = ranks[i];
      }
      if (at > 0) ranks[at - 1] = ranks_.find(ids[at - 1], ids[at]);
      if (at + 1 < size) ranks[at] = ranks_.find(ids[at], ids[at + 1]);
    }
    word.resize(size);
  }

  // A list of symbols and a heap of pairs (rank, place): near-linear for words of any length. An entry is
  // out of date if the pair at its place now has another rank.
  void merge_many(std::vector<uint32_t>& word) {
    const size_t size = word.size();
    if (size >= kNoToken) throw std::length_error("a word of more than 4,294,967,294 characters");
    links_.resize(size);
    heap_.clear();
    const auto offer = [&](uint32_t at) {
      Link& link = links_[at];
      link.rank = link.next == kNoToken ? kNoToken : ranks_.find(link.id, links_[link.next].id);
      if (link.rank == kNoToken) return;
      heap_.push_back(uint64_t{link.rank} << 32 | at);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    };
    for (uint32_t i = 0; i < size; ++i)
      links_[i] = {word[i], i - 1, i + 1 < size ? i + 1 : kNoToken, kNoToken};
    for (uint32_t i = 0; i < size; ++i) offer(i);
    while (!heap_.empty()) {
      poll();
      const uint64_t top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      const auto rank = static_cast<uint32_t>(top >> 32), at = static_cast<uint32_t>(top);
      Link& link = links_[at];
      if (link.rank != rank) continue;
      Link& gone = links_[link.next];
      link.id = alphabet_ + rank;
      link.next = gone.next;
      gone.rank = kNoToken;
      if (link.next != kNoToken) links_[link.next].previous = at;
      offer(at);
      if (at > 0) offer(link.previous);
    }
    word.clear();
    for (uint32_t i = 0; i != kNoToken; i = links_[i].next) word.push_back(links_[i].id);
  }

  struct Link {
    uint32_t id, previous, next;
    uint32_t rank;  // of the pair of this symbol and the next
  };
  const PairTable& ranks_;
  const uint32_t alphabet_;
  std::vector<Link> links_;
  std::vector<uint64_t> heap_;
};

}  // namespace

CutWords cut_by_merges(const WordView& words, const SymbolView& symbols, const MergeView& merges,
                       const UnknownCharacter& unknown, unsigned threads) {
  const SymbolTable table(symbols);
  PairTable ranks;
  ranks.reserve(merges.merges);
  for (size_t m = 0; m < merges.merges; ++m)
    ranks.set(merges.left[m], merges.right[m], static_cast<uint32_t>(m));
  return cut_words(words.words, threads, [&] {
    return [&, merger = Merger(ranks, merges.alphabet), word = std::vector<uint32_t>()](
               size_t w, HugeVector<uint32_t>& out) mutable {
      word.clear();
      table.spell(words.begin(w), words.end(w), unknown, word);
      merger.merge(word);
      out.insert(out.end(), word.begin(), word.end());
    };
  });
}

CutWords undo_merges(const uint32_t* tokens, const uint64_t* offsets, size_t words, const MergeView& merges,
                     size_t row) {
  const size_t kept = merges.alphabet + row, size = merges.alphabet + merges.merges;
  // What each token is split into: [begin, begin + size) of `split`. Its parents come before it.
  struct Part {
    uint32_t begin, size;
  };
  std::vector<Part> parts(size);
  std::vector<uint32_t> split(kept);
  std::iota(split.begin(), split.end(), 0);
  for (uint32_t t = 0; t < kept; ++t) parts[t] = {t, 1};
  // Only tokens that the words have are split, and those that these are made of: one language of many has
  // few of all tokens.
  std::vector<uint8_t> needed(size, 0);
  for (uint64_t i = 0; i < offsets[words]; ++i)
    if (tokens[i] < size) needed[tokens[i]] = 1;
  for (size_t t = size; t-- > kept;)
    if (needed[t]) needed[merges.left[t - merges.alphabet]] = needed[merges.right[t - merges.alphabet]] = 1;
  for (size_t t = kept; t < size; ++t) {
    if (!needed[t]) continue;
    const size_t begin = split.size();
    for (const uint32_t parent : {merges.left[t - merges.alphabet], merges.right[t - merges.alphabet]}) {
      const Part part = parts[parent];
      split.resize(split.size() + part.size);
      std::copy_n(split.begin() + part.begin, part.size, split.end() - part.size);
    }
    if (split.size() >= kNoToken) throw std::length_error("the tokens are too many, or too long");
    parts[t] = {static_cast<uint32_t>(begin), static_cast<uint32_t>(split.size() - begin)};
  }
  CutWords found;
  found.offsets.assign(words + 1, 0);
  for (size_t w = 0; w < words; ++w) {
    uint64_t length = 0;
    for (uint64_t i = offsets[w]; i < offsets[w + 1]; ++i) length += tokens[i] < size ? parts[tokens[i]].size : 1;
    found.offsets[w + 1] = found.offsets[w] + length;
  }
  // Parts are short. To copy a fixed number of tokens, which the next part overwrites, is faster than to
  // copy each part's own number: there is nothing to predict.
  constexpr size_t kAtOnce = 8;
  split.resize(split.size() + kAtOnce);
  found.tokens.resize(found.offsets[words] + kAtOnce);
  uint32_t* out = found.tokens.data();
  constexpr uint64_t kPace = 1 << 18;  // tokens between two looks whether to stop
  for (uint64_t i = 0; i < offsets[words];) {
    poll_now();
    for (const uint64_t end = std::min(offsets[words], i + kPace); i < end; ++i) {
      if (tokens[i] >= size) {  // a byte token, or an unknown character
        *out++ = tokens[i];
        continue;
      }
      const Part part = parts[tokens[i]];
      for (size_t done = 0; done < part.size; done += kAtOnce)
        std::memcpy(out + done, &split[part.begin + done], kAtOnce * sizeof(uint32_t));
      out += part.size;
    }
  }
  found.tokens.resize(found.offsets[words]);
  return found;
}

CutWords cut_by_pieces(const KeyView& keys, const double* scores, const WordView& words,
                       const Matching& matching, WordMark mark, bool bytes_only,
                       const UnknownCharacter& unknown, unsigned threads) {
  const PieceTable table = piece_table(keys, scores);
  return cut_words(words.words, threads, [&] {
    return [&, matcher = Matcher(table, matching, bytes_only), key = std::vector<uint8_t>()](
               size_t w, HugeVector<uint32_t>& out) mutable {
      marked_key(words, w, mark, key);
      double base = 0;
      for (const Matcher::Piece& piece : matcher.cut(key.data(), key.size(), base)) {
        if (piece.token != kNoToken) {
          out.push_back(piece.token);
          continue;
        }
        size_t begin = piece.begin, end = piece.end;
        if (!bytes_only && key[begin] == kStartMark) ++begin;
        if (!bytes_only && key[end - 1] == kFinalMark) --end;
        append_unknown(unknown, key.data() + begin, end - begin, [&](uint32_t t) { out.push_back(t); });
      }
    };
  });
}

}  // namespace volt
