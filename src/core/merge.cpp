#include "merge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "crew.hpp"
#include "huge.hpp"
#include "parallel.hpp"
#include "unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr size_t kManyCharacters = 5000;   // from here on the default coverage is below 1
constexpr double kDefaultCoverage = 0.9995;
constexpr size_t kDenseAlphabet = 1024;    // up to here the first pairs are counted in a square table
constexpr uint64_t kBuckets = 1 << 16;     // pair counts below this have a bucket of their own
constexpr size_t kSharedWork = 1 << 12;    // words from which a merge is worth two threads
constexpr size_t kProgressEvery = 1000;    // merges

// Many arrays that are made once and freed together.
class ListArena {
 public:
  uint32_t* allocate(size_t size) {
    if (size > capacity_ - used_) {
      capacity_ = std::max<size_t>(size, 1 << 20);
      chunks_.push_back(std::make_unique_for_overwrite<uint32_t[]>(capacity_));
      used_ = 0;
    }
    uint32_t* list = chunks_.back().get() + used_;
    used_ += size;
    return list;
  }

 private:
  std::vector<std::unique_ptr<uint32_t[]>> chunks_;
  size_t used_ = 0, capacity_ = 0;
};

// Two neighbouring tokens, how often they are neighbours, and the words where they may be: every word
// that has the pair is in the list, but not every word in the list still has it.
struct Pair {
  uint32_t left, right;
  uint64_t count;
  uint32_t* words;
  uint32_t word_count;
  uint32_t next;  // in its bucket
};

// (left, right) -> number of the pair. Open addressing, linear probing, no removal.
class PairIndex {
 public:
  PairIndex() : slots_(1 << 12, Slot{0, 0, kNone}) {}

  void prefetch(uint32_t left, uint32_t right) const {
    __builtin_prefetch(&slots_[hash(left, right) & (slots_.size() - 1)]);
  }
  uint32_t find(uint32_t left, uint32_t right) const {
    return slots_[slot_of(left, right)].pair;
  }
  void set(uint32_t left, uint32_t right, uint32_t pair) {
    Slot& slot = slots_[slot_of(left, right)];
    if (slot.pair != kNone) {
      slot.pair = pair;
      return;
    }
    slot = {left, right, pair};
    if (++size_ * 2 > slots_.size()) grow();
  }

 private:
  struct Slot {
    uint32_t left, right, pair;
  };
  static uint64_t hash(uint32_t left, uint32_t right) {
    uint64_t key = static_cast<uint64_t>(left) << 32 | right;
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
  }
  size_t slot_of(uint32_t left, uint32_t right) const {
    const size_t mask = slots_.size() - 1;
    size_t i = hash(left, right) & mask;
    while (slots_[i].pair != kNone && (slots_[i].left != left || slots_[i].right != right))
      i = (i + 1) & mask;
    return i;
  }
  void grow() {
    HugeVector<Slot> old(slots_.size() * 2, Slot{0, 0, kNone});
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.pair != kNone) slots_[slot_of(slot.left, slot.right)] = slot;
  }

  HugeVector<Slot> slots_;
  size_t size_ = 0;
};

// The order of merges, a total one: the highest count first; then the lower left token; then the
// lower right token. A pair's count only falls once the pair has come up: it sits in the bucket of a
// count it once had, and moves down when it is looked at.
class PairQueue {
  struct Large {
    uint64_t count;
    uint32_t pair;
  };
  bool earlier(uint32_t a, uint32_t b) const {
    const Pair &x = pairs_[a], &y = pairs_[b];
    return x.left != y.left ? x.left < y.left : x.right < y.right;
  }
  struct Tie {
    uint64_t tokens;  // left, then right
    uint32_t pair;
    bool operator<(const Tie& other) const { return tokens > other.tokens; }
  };
  Tie tie(uint32_t pair) const {
    return {static_cast<uint64_t>(pairs_[pair].left) << 32 | pairs_[pair].right, pair};
  }
  auto large_order() const {
    return [this](const Large& a, const Large& b) {
      return a.count != b.count ? a.count < b.count : earlier(b.pair, a.pair);
    };
  }

 public:
  explicit PairQueue(std::vector<Pair>& pairs, uint64_t min_frequency)
      : pairs_(pairs), min_frequency_(min_frequency), heads_(kBuckets, kNone) {}

  void push(uint32_t pair) {
    const uint64_t count = pairs_[pair].count;
    if (count < min_frequency_) return;
    if (count > level_ || count >= kBuckets) {
      large_.push_back({count, pair});
      std::push_heap(large_.begin(), large_.end(), large_order());
    } else if (count == level_) {
      ties_.push_back(tie(pair));
      std::push_heap(ties_.begin(), ties_.end());
    } else {
      pairs_[pair].next = heads_[count];
      heads_[count] = pair;
    }
  }

  // The pair that probably comes next, or kNone.
  uint32_t peek() const { return large_.empty() && !ties_.empty() ? ties_.front().pair : kNone; }

  // The next pair to merge, or kNone.
  uint32_t pop() {
    for (;;) {
      if (!large_.empty()) {
        const Large top = large_.front();
        std::pop_heap(large_.begin(), large_.end(), large_order());
        large_.pop_back();
        if (pairs_[top.pair].count == top.count) return top.pair;
        push(top.pair);
      } else if (!ties_.empty()) {
        const uint32_t pair = ties_.front().pair;
        std::pop_heap(ties_.begin(), ties_.end());
        ties_.pop_back();
        if (pairs_[pair].count == level_) return pair;
        push(pair);
      } else {
        if (level_ <= min_frequency_) return kNone;
        --level_;
        for (uint32_t pair = heads_[level_]; pair != kNone;) {
          const uint32_t next = pairs_[pair].next;
          if (next != kNone) __builtin_prefetch(&pairs_[next]);
          if (pairs_[pair].count == level_)
            ties_.push_back(tie(pair));
          else
            push(pair);
          pair = next;
        }
        std::make_heap(ties_.begin(), ties_.end());
      }
    }
  }

 private:
  std::vector<Pair>& pairs_;
  const uint64_t min_frequency_;
  uint64_t level_ = kBuckets;     // the bucket being worked on; `ties_` holds its pairs
  std::vector<uint32_t> heads_;   // of the buckets below it
  std::vector<Tie> ties_;
  std::vector<Large> large_;      // counts above the level
};

class Trainer {
 public:
  Trainer(const WordView& words, const MergeOptions& options)
      : input_(words), options_(options), queue_(pairs_, std::max<uint64_t>(1, options.min_frequency)) {
    if (options_.threads == 0) options_.threads = 1;
    min_frequency_ = std::max<uint64_t>(1, options.min_frequency);
  }

  MergeResult run(const std::function<void(uint64_t)>& progress,
                  const std::function<ColumnView()>& columns) {
    make_alphabet();
    spell_words();
    count_first_pairs();
    crew_ = std::make_unique<Crew>(options_.threads);
    scratches_.resize(options_.threads);
    for (uint64_t merge = 0; merge < options_.merges; ++merge) {
      if (merge % kProgressEvery == 0) progress(merge);
      const uint32_t pair = queue_.pop();
      if (pair == kNone) break;
      merge_pair(pair);
    }
    result_.whole_words.assign(result_.lengths.size(), 0);
    for (unsigned i = 0; i < options_.threads; ++i)
      for_each_word(i, [&](const Word& word, uint32_t) {
        if (word.length == 1) result_.whole_words[word.tokens()[0]] += word.count;
      });
    if (columns) sum_columns(columns());
    progress(result_.left.size());
    return std::move(result_);
  }

 private:
  // A word, its tokens right behind it: one place in memory to fetch. Lists of words hold rows, the
  // places of words in rows_, in units of 8 bytes.
  struct Word {
    uint64_t count;
    uint32_t length, room;  // in tokens; at first
    uint32_t* tokens() { return reinterpret_cast<uint32_t*>(this + 1); }
    const uint32_t* tokens() const { return reinterpret_cast<const uint32_t*>(this + 1); }
    static uint64_t units(uint64_t length) { return sizeof(Word) / 8 + (length + 1) / 2; }
  };
  Word& word_at(uint64_t row) { return *reinterpret_cast<Word*>(&rows_[row * 8]); }
  const Word& word_at(uint64_t row) const { return *reinterpret_cast<const Word*>(&rows_[row * 8]); }

  // What one merge changes beside one neighbouring token: how often, and in which words.
  struct Neighbour {
    uint32_t token;
    uint32_t events = 0;
    uint64_t count = 0;
    uint32_t* words = nullptr;
    uint32_t gathered = 0;  // its place among the neighbours of all threads
  };
  struct Event {
    uint32_t place, row;
  };
  struct Side {
    std::vector<uint32_t> places;       // by token: 1 + its place in `neighbours`, or 0
    std::vector<Neighbour> neighbours;
    std::vector<Event> events;

    uint32_t place_of(uint32_t token) {
      uint32_t& place = places[token];
      if (place == 0) {
        neighbours.push_back({token});
        place = static_cast<uint32_t>(neighbours.size());
      }
      return place - 1;
    }
    void add(uint32_t token, uint32_t row, uint64_t count) {
      const uint32_t place = place_of(token);
      ++neighbours[place].events;
      neighbours[place].count += count;
      events.push_back({place, row});
    }
    void clear() {
      for (const Neighbour& neighbour : neighbours) places[neighbour.token] = 0;
      neighbours.clear();
      events.clear();
    }
  };
  struct Scratch {
    Side left, right;
    uint64_t merged = 0;
    uint64_t doubled = 0;  // two new tokens side by side
    std::vector<uint32_t> doubled_words;
  };

  bool byte_level() const { return is_byte_level(options_.pretokenizer); }
  bool marks_words() const { return options_.pretokenizer == Pretokenizer::whitespace; }

  // Calls visit(code point or byte, is last of the word) for every character of word w.
  template <class Visit>
  void for_each_character(size_t w, Visit&& visit) const {
    const uint8_t* p = input_.text + input_.offsets[w];
    const uint8_t* end = input_.text + input_.offsets[w + 1];
    while (p < end) {
      uint32_t character = *p, bytes = 1;
      if (!byte_level()) {
        const Decoded d = decode(p);
        character = d.code_point;
        bytes = d.bytes;
      }
      p += bytes;
      visit(character, p == end);
    }
  }

  // Split the words among the threads, so that each has about as much text.
  std::vector<size_t> shares() const {
    std::vector<size_t> bounds{0};
    const uint64_t total = input_.offsets[input_.words];
    for (unsigned i = 1; i < options_.threads; ++i)
      bounds.push_back(std::max<size_t>(
          bounds.back(), std::lower_bound(input_.offsets, input_.offsets + input_.words,
                                          total * i / options_.threads) - input_.offsets));
    bounds.push_back(input_.words);
    return bounds;
  }

  // One more than the largest code point that UTF-8 writes with the bytes of the words: a table for all
  // of Unicode takes longer to clear than a small corpus to merge.
  size_t code_points() const {
    const uint8_t* end = input_.text + input_.offsets[input_.words];
    const uint8_t largest = input_.text == end ? 0 : *std::max_element(input_.text, end);
    return largest < 0x80 ? 0x80 : largest < 0xE0 ? 0x800 : largest < 0xF0 ? 0x10000 : 0x110000;
  }

  // 1. The alphabet: every symbol that coverage asks for, numbered by code point.
  void make_alphabet() {
    const size_t kinds = marks_words() ? 2 : 1;
    const size_t range = byte_level() ? 256 : code_points();
    const auto bounds = shares();
    std::vector<std::vector<uint64_t>> partial(options_.threads);
    run_parallel(options_.threads, [&](unsigned i) {
      partial[i].assign(range * kinds, 0);
      for (size_t w = bounds[i]; w < bounds[i + 1]; ++w)
        for_each_character(w, [&](uint32_t c, bool last) {
          partial[i][c * kinds + (last && kinds == 2)] += input_.counts[w];
        });
    });
    std::vector<uint64_t>& counts = partial[0];
    for (unsigned i = 1; i < options_.threads; ++i)
      for (size_t s = 0; s < counts.size(); ++s) counts[s] += partial[i][s];

    const std::vector<bool> covered = cover(counts, kinds);
    symbol_of_.assign(range * kinds, kNone);
    uint64_t unknown_count = 0;
    for (size_t s = 0; s < counts.size(); ++s) {
      if (counts[s] == 0 && !byte_level()) continue;
      const uint32_t c = static_cast<uint32_t>(s / kinds);
      if (!covered[c]) {
        unknown_count += counts[s];
        continue;
      }
      symbol_of_[s] = static_cast<uint32_t>(result_.lengths.size());
      add_token(byte_level() ? std::string(1, static_cast<char>(c)) : encode(c), s % kinds != 0, 1);
      result_.alphabet_counts.push_back(counts[s]);
    }
    if (unknown_count != 0) {
      unknown_ = static_cast<uint32_t>(result_.lengths.size());
      result_.unknown = unknown_;
      add_token("", false, 1);
      result_.alphabet_counts.push_back(unknown_count);
    }
  }

  // Which characters are in the alphabet: the most frequent (ties: lower code point first) that
  // together make up the share asked for.
  std::vector<bool> cover(const std::vector<uint64_t>& counts, size_t kinds) {
    const size_t range = counts.size() / kinds;
    std::vector<bool> covered(range, true);
    if (byte_level()) return covered;
    std::vector<std::pair<uint64_t, uint32_t>> seen;
    double total = 0;
    for (uint32_t c = 0; c < range; ++c) {
      uint64_t count = counts[c * kinds];
      if (kinds == 2) count += counts[c * kinds + 1];
      if (count != 0) seen.push_back({count, c});
      total += static_cast<double>(count);
    }
    double coverage = options_.coverage;
    if (coverage <= 0) coverage = seen.size() < kManyCharacters ? 1.0 : kDefaultCoverage;
    if (coverage >= 1) return covered;
    std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    double have = 0;
    for (const auto& [count, c] : seen) {
      if (have >= coverage * total) {
        covered[c] = false;
        ++result_.left_out;
      }
      have += static_cast<double>(count);
    }
    return covered;
  }

  static std::string encode(uint32_t c) {
    std::string out;
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
    return out;
  }

  uint32_t add_token(const std::string& text, bool word_final, uint32_t length) {
    const uint32_t token = static_cast<uint32_t>(result_.lengths.size());
    if (result_.offsets.empty()) result_.offsets.push_back(0);
    result_.text.insert(result_.text.end(), text.begin(), text.end());
    result_.offsets.push_back(result_.text.size());
    result_.word_final.push_back(word_final);
    result_.lengths.push_back(length);
    return token;
  }

  std::string text_of(uint32_t token) const {
    return std::string(result_.text.begin() + result_.offsets[token],
                       result_.text.begin() + result_.offsets[token + 1]);
  }

  uint64_t length_of(size_t w) const {
    const uint8_t *begin = input_.text + input_.offsets[w], *end = input_.text + input_.offsets[w + 1];
    return byte_level() ? end - begin : count_characters(begin, end);
  }

  // 2. Every word as a row of symbols.
  void spell_words() {
    const size_t kinds = marks_words() ? 2 : 1;
    const auto bounds = shares();
    std::vector<uint64_t> starts(options_.threads + 1, 0);  // where each share's rows begin
    run_parallel(options_.threads, [&](unsigned i) {
      for (size_t w = bounds[i]; w < bounds[i + 1]; ++w) starts[i + 1] += Word::units(length_of(w));
    });
    for (unsigned i = 0; i < options_.threads; ++i) starts[i + 1] += starts[i];
    if (starts.back() >= kNone || input_.words >= kNone)
      throw std::length_error("too many word types for one run: prune the counts (--min-count)");
    rows_.resize(starts.back() * 8);
    run_parallel(options_.threads, [&](unsigned i) {
      uint64_t row = starts[i];
      for (size_t w = bounds[i]; w < bounds[i + 1]; ++w) {
        Word& word = word_at(row);
        word = {input_.counts[w], 0, 0};
        for_each_character(w, [&](uint32_t c, bool last) {
          const uint32_t symbol = symbol_of_[c * kinds + (last && kinds == 2)];
          word.tokens()[word.length++] = symbol == kNone ? unknown_ : symbol;
        });
        word.room = word.length;
        row += Word::units(word.room);
      }
    });
    starts_ = starts;
    symbol_of_ = {};
  }

  // 3. The pairs of the spelled words. With a small alphabet a square table holds a counter for each
  // and the threads share the work; else they are found by hashing.
  void count_first_pairs() {
    const size_t alphabet = result_.lengths.size();
    if (alphabet > kDenseAlphabet) return count_first_pairs_by_hash();
    struct Cell {
      uint64_t count = 0;
      uint64_t events = 0;
    };
    std::vector<std::vector<Cell>> partial(options_.threads);
    run_parallel(options_.threads, [&](unsigned i) {
      partial[i].resize(alphabet * alphabet);
      for_each_pair(i, [&](uint32_t a, uint32_t b, const Word& word, uint32_t) {
        Cell& cell = partial[i][a * alphabet + b];
        cell.count += word.count;
        ++cell.events;
      });
    });
    std::vector<std::vector<uint32_t*>> cursors(options_.threads,
                                                std::vector<uint32_t*>(alphabet * alphabet, nullptr));
    for (uint32_t a = 0; a < alphabet; ++a)
      for (uint32_t b = 0; b < alphabet; ++b) {
        uint64_t count = 0, events = 0;
        for (auto& cells : partial) {
          count += cells[a * alphabet + b].count;
          events += cells[a * alphabet + b].events;
        }
        if (count < min_frequency_ || !may_merge(a, b)) continue;
        uint32_t* list = new_pair(a, b, count, events);
        for (unsigned i = 0; i < options_.threads; ++i) {
          cursors[i][a * alphabet + b] = list;
          list += partial[i][a * alphabet + b].events;
        }
      }
    run_parallel(options_.threads, [&](unsigned i) {
      for_each_pair(i, [&](uint32_t a, uint32_t b, const Word&, uint32_t row) {
        uint32_t*& cursor = cursors[i][a * alphabet + b];
        if (cursor) *cursor++ = row;
      });
    });
    for (uint32_t pair = 0; pair < pairs_.size(); ++pair) queue_.push(pair);
  }

  void count_first_pairs_by_hash() {
    const auto count = [&](uint32_t a, uint32_t b, const Word& word, uint32_t) {
      if (!may_merge(a, b)) return;
      uint32_t pair = index_.find(a, b);
      if (pair == kNone) {
        pair = static_cast<uint32_t>(pairs_.size());
        pairs_.push_back({a, b, 0, nullptr, 0, kNone});
        index_.set(a, b, pair);
      }
      pairs_[pair].count += word.count;
      ++pairs_[pair].word_count;
    };
    for (unsigned i = 0; i < options_.threads; ++i) for_each_pair(i, count);
    for (Pair& pair : pairs_) {
      if (pair.count >= min_frequency_) pair.words = lists_.allocate(pair.word_count);
      pair.word_count = 0;
    }
    const auto enlist = [&](uint32_t a, uint32_t b, const Word&, uint32_t row) {
      const uint32_t found = index_.find(a, b);
      if (found == kNone || pairs_[found].words == nullptr) return;
      Pair& pair = pairs_[found];
      pair.words[pair.word_count++] = row;
    };
    for (unsigned i = 0; i < options_.threads; ++i) for_each_pair(i, enlist);
    for (uint32_t pair = 0; pair < pairs_.size(); ++pair) queue_.push(pair);
  }

  // Calls visit(word, row) for every word of a share.
  template <class Visit>
  void for_each_word(unsigned share, Visit&& visit) const {
    for (uint64_t row = starts_[share]; row < starts_[share + 1];) {
      const Word& word = word_at(row);
      visit(word, static_cast<uint32_t>(row));
      row += Word::units(word.room);
    }
  }
  template <class Visit>
  void for_each_pair(unsigned share, Visit&& visit) const {
    for_each_word(share, [&](const Word& word, uint32_t row) {
      for (uint32_t i = 1; i < word.length; ++i)
        visit(word.tokens()[i - 1], word.tokens()[i], word, row);
    });
  }

  bool may_merge(uint32_t a, uint32_t b) const {
    if (a == unknown_ || b == unknown_) return false;
    if (options_.max_token_length != 0 &&
        result_.lengths[a] + result_.lengths[b] > options_.max_token_length)
      return false;
    // Text that reads like a mark (`</w>` inside a word, `<unk>`) is not made into a token, so that
    // no two tokens are written alike.
    if (marks_words() && !result_.word_final[b] && result_.text[result_.offsets[b + 1] - 1] == '>') {
      const std::string text = text_of(a) + text_of(b);
      return !text.ends_with("</w>") && text != "<unk>";
    }
    return true;
  }

  // Enter a pair with room for its words.
  uint32_t* new_pair(uint32_t a, uint32_t b, uint64_t count, uint64_t words) {
    if (pairs_.size() == kNone) throw std::length_error("too many pairs for one run");
    const uint32_t pair = static_cast<uint32_t>(pairs_.size());
    uint32_t* list = lists_.allocate(words);
    pairs_.push_back({a, b, count, list, static_cast<uint32_t>(words), kNone});
    index_.set(a, b, pair);
    return list;
  }

  // 4. One merge: rewrite the words that have the pair, and mend the counts of the pairs around it.
  //
  // The token it makes is always new. Inside a stretch of text whose ends no merge has crossed, the
  // merges so far did what they do to that text anywhere; so all stretches that are to become the
  // same token consist of the same two tokens. (In a run `aaaa` pairs are taken from the left, and a
  // stretch that begins at an odd place has its end crossed.) Hence a token has one pair of parents,
  // and the pairs around it begin to exist here and gain nothing later.
  void merge_pair(uint32_t chosen) {
    const Pair pair = pairs_[chosen];
    const uint32_t a = pair.left, b = pair.right;
    const uint32_t next = queue_.peek();
    if (next != kNone) __builtin_prefetch(&pairs_[next]);
    const uint32_t made = add_token(text_of(a) + text_of(b), result_.word_final[b],
                                    result_.lengths[a] + result_.lengths[b]);

    // 4a. Rewrite. Big lists are shared among the threads; a word is in one share only.
    const unsigned workers = pair.word_count >= kSharedWork ? options_.threads : 1;
    std::vector<size_t> bounds{0};
    for (unsigned i = 1; i < workers; ++i) {
      size_t bound = static_cast<size_t>(pair.word_count) * i / workers;
      while (bound < pair.word_count && pair.words[bound] == pair.words[bound - 1]) ++bound;
      bounds.push_back(std::max(bounds.back(), bound));
    }
    bounds.push_back(pair.word_count);
    auto rewrite_share = [&](unsigned i) {
      rewrite(pair.words + bounds[i], pair.words + bounds[i + 1], a, b, made, scratches_[i]);
    };
    if (workers == 1)
      rewrite_share(0);
    else
      crew_->run(rewrite_share);

    uint64_t merged = 0, doubled = 0;
    for (unsigned i = 0; i < workers; ++i) {
      merged += scratches_[i].merged;
      doubled += scratches_[i].doubled;
    }
    result_.left.push_back(a);
    result_.right.push_back(b);
    result_.pair_counts.push_back(pair.count);
    result_.merge_counts.push_back(merged);

    // 4b. What was a neighbour of the two is now a neighbour of what they made.
    for (unsigned i = 0; i < workers; ++i) {
      gather(scratches_[0].left, scratches_[i].left);
      gather(scratches_[0].right, scratches_[i].right);
    }
    if (next != kNone) __builtin_prefetch(pairs_[next].words);
    Side &left = scratches_[0].left, &right = scratches_[0].right;
    lower(left.neighbours, [&](uint32_t x) { return std::pair{x, a}; },
          [&](uint32_t x) { return std::pair{x, made}; });
    lower(right.neighbours, [&](uint32_t y) { return std::pair{b, y}; },
          [&](uint32_t y) { return std::pair{made, y}; });
    if (doubled != 0) decrease(index_.find(b, a), doubled);
    pairs_[chosen].count = 0;
    for (Neighbour& neighbour : left.neighbours) enter(neighbour.token, made, neighbour);
    for (Neighbour& neighbour : right.neighbours) enter(made, neighbour.token, neighbour);
    if (doubled >= min_frequency_ && may_merge(made, made)) {
      size_t size = 0;
      for (unsigned i = 0; i < workers; ++i) size += scratches_[i].doubled_words.size();
      uint32_t* list = new_pair(made, made, doubled, size);
      for (unsigned i = 0; i < workers; ++i)
        list = std::copy(scratches_[i].doubled_words.begin(), scratches_[i].doubled_words.end(), list);
      queue_.push(static_cast<uint32_t>(pairs_.size() - 1));
    }
    // In the order of the shares, so that every list stays sorted by word.
    for (unsigned i = 0; i < workers; ++i) {
      scatter(scratches_[i].left, left);
      scatter(scratches_[i].right, right);
    }
    if (next != kNone) fetch_words(pairs_[next].words, pairs_[next].words + pairs_[next].word_count);
    for (unsigned i = 0; i < workers; ++i) {
      scratches_[i].left.clear();
      scratches_[i].right.clear();
    }
  }

  // Words lie all over the memory: ask for them some steps before they are touched.
  static constexpr ptrdiff_t kAhead = 12;
  void fetch_word(uint32_t row) const {
    __builtin_prefetch(&rows_[row * 8ull], 1);
    __builtin_prefetch(&rows_[row * 8ull] + 64, 1);
  }
  void fetch_words(const uint32_t* first, const uint32_t* last) const {
    last = std::min(last, first + kAhead);
    for (const uint32_t* entry = first; entry < last; ++entry) fetch_word(*entry);
  }

  void rewrite(const uint32_t* first, const uint32_t* last, uint32_t a, uint32_t b, uint32_t made,
               Scratch& scratch) {
    scratch.merged = scratch.doubled = 0;
    scratch.doubled_words.clear();
    for (Side* side : {&scratch.left, &scratch.right})
      if (side->places.size() < result_.lengths.size())
        side->places.resize(std::max<size_t>(result_.lengths.size() * 2, 1024));

    fetch_words(first, last);
    for (const uint32_t* entry = first; entry < last; ++entry) {
      if (last - entry > kAhead) fetch_word(entry[kAhead]);
      const uint32_t row = *entry;
      Word& word = word_at(row);
      uint32_t* cell = word.tokens();
      const uint32_t length = word.length;
      uint32_t i = 0;
      while (i + 1 < length && !(cell[i] == a && cell[i + 1] == b)) ++i;
      if (i + 1 >= length) continue;
      uint32_t out = i, matches = 0, match_end = kNone;
      while (i < length) {
        if (!(cell[i] == a && i + 1 < length && cell[i + 1] == b)) {
          cell[out++] = cell[i++];
          continue;
        }
        if (out > 0 && match_end != i && cell[out - 1] != unknown_)
          scratch.left.add(cell[out - 1], row, word.count);
        if (i + 2 < length) {
          if (cell[i + 2] == a && i + 3 < length && cell[i + 3] == b) {
            scratch.doubled += word.count;
            scratch.doubled_words.push_back(row);
          } else if (cell[i + 2] != unknown_) {
            scratch.right.add(cell[i + 2], row, word.count);
          }
        }
        cell[out++] = made;
        i += 2;
        match_end = i;
        ++matches;
      }
      word.length = out;
      scratch.merged += word.count * matches;
    }
  }

  // 5. The columns. A token was made as often as it stands in the words at last and in tokens made
  // of it: so no merge needs to look at them.
  void sum_columns(const ColumnView& view) {
    const size_t columns = view.count, tokens = result_.lengths.size();
    if (columns == 0) return;
    const auto add_columns = [columns](uint64_t* sums, const uint64_t* weights) {
      for (size_t c = 0; c < columns; ++c) sums[c] += weights[c];
    };
    const auto bounds = shares();
    std::vector<std::vector<uint64_t>> sums(options_.threads);
    run_parallel(options_.threads, [&](unsigned i) {
      sums[i].assign(tokens * columns, 0);
      const uint64_t* weights = view.data + bounds[i] * columns;
      for_each_word(i, [&](const Word& word, uint32_t) {
        for (uint32_t t = 0; t < word.length; ++t)
          add_columns(&sums[i][word.tokens()[t] * columns], weights);
        weights += columns;
      });
    });
    std::vector<uint64_t>& made = sums[0];
    for (unsigned i = 1; i < options_.threads; ++i)
      for (size_t c = 0; c < made.size(); ++c) made[c] += sums[i][c];
    const size_t alphabet = result_.alphabet_counts.size();
    for (size_t m = result_.left.size(); m-- > 0;)
      for (const uint32_t parent : {result_.left[m], result_.right[m]})
        add_columns(&made[parent * columns], &made[(alphabet + m) * columns]);
    result_.merge_columns.assign(made.begin() + alphabet * columns, made.end());
    made.resize(alphabet * columns);
    result_.alphabet_columns = std::move(made);
  }

  static void gather(Side& all, Side& from) {
    if (&all == &from) {
      for (uint32_t place = 0; place < all.neighbours.size(); ++place)
        all.neighbours[place].gathered = place;
      return;
    }
    if (all.places.size() < from.places.size()) all.places.resize(from.places.size());
    for (Neighbour& neighbour : from.neighbours) {
      neighbour.gathered = all.place_of(neighbour.token);
      all.neighbours[neighbour.gathered].events += neighbour.events;
      all.neighbours[neighbour.gathered].count += neighbour.count;
    }
  }
  // Write the words of a share into the lists of the new pairs.
  static void scatter(const Side& from, Side& all) {
    for (const Event& event : from.events)
      if (uint32_t*& list = all.neighbours[from.neighbours[event.place].gathered].words)
        *list++ = event.row;
  }

  void decrease(uint32_t pair, uint64_t by) {
    // Not found: the pair was rarer than min_frequency when it arose, and can't become a merge.
    if (pair != kNone) pairs_[pair].count -= std::min(by, pairs_[pair].count);
  }

  // Lower the counts of the pairs that were. Slots and pairs are rarely in the cache: fetch them in
  // waves, and the slots of the pairs that will be.
  template <class PairOf, class NewPairOf>
  void lower(const std::vector<Neighbour>& neighbours, PairOf&& pair_of, NewPairOf&& new_pair_of) {
    found_.resize(neighbours.size());
    for (const Neighbour& neighbour : neighbours) {
      const auto [left, right] = pair_of(neighbour.token);
      index_.prefetch(left, right);
    }
    for (size_t i = 0; i < neighbours.size(); ++i) {
      const auto [left, right] = pair_of(neighbours[i].token);
      found_[i] = index_.find(left, right);
      if (found_[i] != kNone) __builtin_prefetch(&pairs_[found_[i]], 1);
      const auto [new_left, new_right] = new_pair_of(neighbours[i].token);
      if (neighbours[i].count >= min_frequency_) index_.prefetch(new_left, new_right);
    }
    for (size_t i = 0; i < neighbours.size(); ++i) decrease(found_[i], neighbours[i].count);
  }

  void enter(uint32_t a, uint32_t b, Neighbour& neighbour) {
    if (neighbour.count < min_frequency_ || !may_merge(a, b)) return;
    neighbour.words = new_pair(a, b, neighbour.count, neighbour.events);
    queue_.push(static_cast<uint32_t>(pairs_.size() - 1));
  }

  const WordView input_;
  MergeOptions options_;
  uint64_t min_frequency_ = 2;
  MergeResult result_;
  uint32_t unknown_ = kNone;
  std::vector<uint32_t> symbol_of_;
  HugeVector<std::byte> rows_;
  std::vector<uint64_t> starts_;  // of the shares' rows, and their end
  std::vector<Pair> pairs_;
  PairIndex index_;
  PairQueue queue_;
  ListArena lists_;
  std::vector<Scratch> scratches_;
  std::vector<uint32_t> found_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace

MergeResult learn_merges(const WordView& words, const MergeOptions& options,
                         const std::function<void(uint64_t)>& progress,
                         const std::function<ColumnView()>& columns) {
  return Trainer(words, options).run(progress, columns);
}

}  // namespace volt
