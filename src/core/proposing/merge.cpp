#include "proposing/merge.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/crew.hpp"
#include "base/huge.hpp"
#include "base/parallel.hpp"
#include "proposing/long_words.hpp"
#include "proposing/neighbours.hpp"
#include "proposing/pair_queue.hpp"
#include "proposing/speller.hpp"
#include "proposing/word_rows.hpp"

namespace volt {

uint32_t MergeResult::add_token(const std::string& its_text, bool is_word_final, uint32_t length) {
  if (offsets.empty()) offsets.push_back(0);
  text.insert(text.end(), its_text.begin(), its_text.end());
  offsets.push_back(text.size());
  word_final.push_back(is_word_final);
  lengths.push_back(length);
  return static_cast<uint32_t>(lengths.size() - 1);
}

namespace {

constexpr size_t kDenseAlphabet = 1024;  // up to here the first pairs are counted in a square table
constexpr size_t kSharedWork = 1 << 12;  // words from which on a merge is worth two threads
constexpr size_t kPace = 1 << 15;        // words of a merge between two looks whether to stop
constexpr std::chrono::milliseconds kProgressEvery{30};

class Trainer {
 public:
  Trainer(const WordView& words, const MergeOptions& options)
      : input_(words),
        options_(with_threads(options)),
        min_frequency_(std::max<uint64_t>(1, options.min_frequency)),
        queue_(pairs_, min_frequency_),
        crew_(options_.threads),
        changes_(options_.threads) {}

  MergeResult run(const std::function<void(uint64_t)>& progress) {
    // 1. The alphabet. 2. Every word as a row of symbols.
    {
      Speller speller(input_, options_);
      speller.make_alphabet(result_);
      speller.spell_words(words_);
      long_words_.take_from(words_, options_.threads);
    }
    if (result_.unknown >= 0) unknown_ = static_cast<uint32_t>(result_.unknown);
    // 3. The pairs of the spelled words. 4. Merges.
    count_first_pairs();
    auto next_report = std::chrono::steady_clock::now();
    for (uint64_t merge = 0; merge < options_.merges; ++merge) {
      if (const auto now = std::chrono::steady_clock::now(); now >= next_report) {
        progress(merge);
        next_report = now + kProgressEvery;
      }
      const uint32_t pair = queue_.pop();
      if (pair == kNone) break;
      merge_pair(pair);
    }
    result_.whole_words.assign(result_.lengths.size(), 0);
    for (unsigned i = 0; i < options_.threads; ++i)
      words_.for_each_word(i, [&](const WordRow& word, uint32_t) {
        if (word.length == 1) result_.whole_words[word.tokens()[0]] += word.count;
      });
    long_words_.for_each_whole_word(
        [&](uint32_t token, uint64_t count) { result_.whole_words[token] += count; });
    progress(result_.left.size());
    return std::move(result_);
  }

 private:
  static MergeOptions with_threads(MergeOptions options) {
    options.threads = std::max(1u, options.threads);
    return options;
  }

  // ---------------------------------------------------------------------------------- the first pairs

  // Long words belong to the last share, so that every list stays sorted.
  template <class Visit>
  void for_each_pair(unsigned share, Visit&& visit) const {
    words_.for_each_pair(share, visit);
    if (share + 1 == options_.threads) long_words_.for_each_pair(visit);
  }

  // With a small alphabet a square table has a counter per pair, and the threads share the work. Else
  // pairs are found by hashing.
  void count_first_pairs() {
    const size_t alphabet = result_.lengths.size();
    if (alphabet > kDenseAlphabet)
      count_first_pairs_by_hash();
    else
      count_first_pairs_in_square(alphabet);
    for (uint32_t pair = 0; pair < pairs_.size(); ++pair) {
      poll();
      queue_.push(pair);
    }
  }

  void count_first_pairs_in_square(size_t alphabet) {
    struct Cell {
      uint64_t count = 0;
      uint64_t events = 0;
    };
    std::vector<std::vector<Cell>> partial(options_.threads);
    run_parallel(options_.threads, [&](unsigned i) {
      partial[i].resize(alphabet * alphabet);
      for_each_pair(i, [&](uint32_t a, uint32_t b, uint64_t count, uint32_t) {
        Cell& cell = partial[i][a * alphabet + b];
        cell.count += count;
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
      for_each_pair(i, [&](uint32_t a, uint32_t b, uint64_t, uint32_t entry) {
        uint32_t*& cursor = cursors[i][a * alphabet + b];
        if (cursor) *cursor++ = entry;
      });
    });
  }

  void count_first_pairs_by_hash() {
    const auto count = [&](uint32_t a, uint32_t b, uint64_t times, uint32_t) {
      if (!may_merge(a, b)) return;
      uint32_t pair = index_.find(a, b);
      if (pair == kNone) {
        pair = static_cast<uint32_t>(pairs_.size());
        pairs_.push_back({a, b, 0, nullptr, 0, kNone});
        index_.set(a, b, pair);
      }
      pairs_[pair].count += times;
      ++pairs_[pair].word_count;
    };
    for (unsigned i = 0; i < options_.threads; ++i) for_each_pair(i, count);
    for (Pair& pair : pairs_) {
      if (pair.count >= min_frequency_) pair.words = lists_.allocate(pair.word_count);
      pair.word_count = 0;
    }
    const auto enlist = [&](uint32_t a, uint32_t b, uint64_t, uint32_t entry) {
      const uint32_t found = index_.find(a, b);
      if (found == kNone || pairs_[found].words == nullptr) return;
      Pair& pair = pairs_[found];
      pair.words[pair.word_count++] = entry;
    };
    for (unsigned i = 0; i < options_.threads; ++i) for_each_pair(i, enlist);
  }

  bool may_merge(uint32_t a, uint32_t b) const {
    if (a == unknown_ || b == unknown_) return false;
    if (options_.max_token_length != 0 &&
        result_.lengths[a] + result_.lengths[b] > options_.max_token_length)
      return false;
    // Text that looks like a mark (`</w>` inside a word, `<unk>`) does not become a token: two tokens
    // would be written alike.
    if (options_.pretokenizer == Pretokenizer::whitespace && !result_.word_final[b] &&
        result_.text[result_.offsets[b + 1] - 1] == '>') {
      const std::string text = result_.text_of(a) + result_.text_of(b);
      return !text.ends_with("</w>") && text != "<unk>";
    }
    return true;
  }

  // Add a pair, with room for its words.
  uint32_t* new_pair(uint32_t a, uint32_t b, uint64_t count, uint64_t words) {
    if (pairs_.size() == kNone) throw std::length_error("too many pairs for one run");
    const uint32_t pair = static_cast<uint32_t>(pairs_.size());
    uint32_t* list = lists_.allocate(words);
    pairs_.push_back({a, b, count, list, static_cast<uint32_t>(words), kNone});
    index_.set(a, b, pair);
    return list;
  }

  // ---------------------------------------------------------------------------------------- one merge

  // Rewrite the words that contain the pair, and correct the counts of the pairs around it.
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
    const uint32_t made = result_.add_token(result_.text_of(a) + result_.text_of(b), result_.word_final[b],
                                            result_.lengths[a] + result_.lengths[b]);

    const unsigned workers = rewrite_words(pair, made);
    uint64_t merged = 0, doubled = 0;
    for (unsigned i = 0; i < workers; ++i) {
      merged += changes_[i].merged;
      doubled += changes_[i].doubled;
    }
    result_.left.push_back(a);
    result_.right.push_back(b);
    result_.pair_counts.push_back(pair.count);
    result_.merge_counts.push_back(merged);

    // The neighbours of the two are now neighbours of the token they made.
    Neighbours &left = changes_[0].left, &right = changes_[0].right;
    for (unsigned i = 0; i < workers; ++i) {
      left.gather(changes_[i].left);
      right.gather(changes_[i].right);
    }
    if (next != kNone) __builtin_prefetch(pairs_[next].words);
    lower(left.all, [&](uint32_t x) { return std::pair{x, a}; },
          [&](uint32_t x) { return std::pair{x, made}; });
    lower(right.all, [&](uint32_t y) { return std::pair{b, y}; },
          [&](uint32_t y) { return std::pair{made, y}; });
    if (doubled != 0) decrease(index_.find(b, a), doubled);
    pairs_[chosen].count = 0;
    for (Neighbour& neighbour : left.all) enter(neighbour.token, made, neighbour);
    for (Neighbour& neighbour : right.all) enter(made, neighbour.token, neighbour);
    if (doubled >= min_frequency_ && may_merge(made, made)) enter_doubled(made, doubled, workers);
    // In the order of the shares, so that every list stays sorted by word.
    for (unsigned i = 0; i < workers; ++i) {
      changes_[i].left.scatter(left);
      changes_[i].right.scatter(right);
    }
    if (next != kNone && long_words_.empty())
      words_.prefetch(pairs_[next].words, pairs_[next].words + pairs_[next].word_count);
    for (unsigned i = 0; i < workers; ++i) {
      changes_[i].left.clear();
      changes_[i].right.clear();
    }
  }

  // Long lists are shared among the threads; a word is in one share only. Returns how many shares.
  unsigned rewrite_words(const Pair& pair, uint32_t made) {
    const uint32_t* end = pair.words + pair.word_count;
    const uint32_t* long_words = long_words_.first(pair.words, end);
    const auto rows = static_cast<size_t>(long_words - pair.words);
    const unsigned workers = rows >= kSharedWork ? options_.threads : 1;
    std::vector<size_t> bounds{0};
    for (unsigned i = 1; i < workers; ++i) {
      size_t bound = rows * i / workers;
      while (bound < rows && pair.words[bound] == pair.words[bound - 1]) ++bound;
      bounds.push_back(std::max(bounds.back(), bound));
    }
    bounds.push_back(rows);
    auto rewrite_share = [&](unsigned i) {
      rewrite(pair.words + bounds[i], pair.words + bounds[i + 1], pair.left, pair.right, made, changes_[i]);
    };
    if (workers == 1)
      rewrite_share(0);
    else
      crew_.run(rewrite_share);
    long_words_.rewrite(long_words, end, pair.left, pair.right, made, unknown_, changes_[workers - 1]);
    return workers;
  }

  void rewrite(const uint32_t* first, const uint32_t* last, uint32_t a, uint32_t b, uint32_t made,
               Changes& changes) {
    changes.merged = changes.doubled = 0;
    changes.doubled_words.clear();
    changes.left.reserve(result_.lengths.size());
    changes.right.reserve(result_.lengths.size());

    words_.prefetch(first, last);
    PollEvery pace(kPace);
    for (const uint32_t* entry = first; entry < last; ++entry) {
      pace.done(1);
      if (last - entry > WordRows::kAhead) words_.prefetch(entry[WordRows::kAhead]);
      const uint32_t row = *entry;
      WordRow& word = words_.at(row);
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
          changes.left.add(cell[out - 1], row, word.count);
        if (i + 2 < length) {
          if (cell[i + 2] == a && i + 3 < length && cell[i + 3] == b) {
            changes.doubled += word.count;
            changes.doubled_words.push_back(row);
          } else if (cell[i + 2] != unknown_) {
            changes.right.add(cell[i + 2], row, word.count);
          }
        }
        cell[out++] = made;
        i += 2;
        match_end = i;
        ++matches;
      }
      word.length = out;
      changes.merged += word.count * matches;
    }
  }

  void decrease(uint32_t pair, uint64_t by) {
    // Not found: the pair was rarer than min_frequency from the start, and can't become a merge.
    if (pair != kNone) pairs_[pair].count -= std::min(by, pairs_[pair].count);
  }

  // Lower the counts of the old pairs. Slots and pairs are rarely in the cache: they are prefetched in
  // waves, together with the slots of the new pairs.
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

  // A new pair, if it is frequent enough. Its words are written by `scatter`.
  void enter(uint32_t a, uint32_t b, Neighbour& neighbour) {
    if (neighbour.count < min_frequency_ || !may_merge(a, b)) return;
    neighbour.words = new_pair(a, b, neighbour.count, neighbour.events);
    queue_.push(static_cast<uint32_t>(pairs_.size() - 1));
  }

  // The pair of the new token with itself.
  void enter_doubled(uint32_t made, uint64_t count, unsigned workers) {
    size_t size = 0;
    for (unsigned i = 0; i < workers; ++i) size += changes_[i].doubled_words.size();
    uint32_t* list = new_pair(made, made, count, size);
    for (unsigned i = 0; i < workers; ++i)
      list = std::copy(changes_[i].doubled_words.begin(), changes_[i].doubled_words.end(), list);
    queue_.push(static_cast<uint32_t>(pairs_.size() - 1));
  }

  const WordView input_;
  const MergeOptions options_;
  const uint64_t min_frequency_;
  MergeResult result_;
  uint32_t unknown_ = kNone;
  WordRows words_;
  LongWords long_words_;
  std::vector<Pair> pairs_;
  PairIndex index_;
  PairQueue queue_;
  ListArena lists_;
  Crew crew_;
  std::vector<Changes> changes_;  // one per thread
  std::vector<uint32_t> found_;
};

}  // namespace

MergeResult learn_merges(const WordView& words, const MergeOptions& options,
                         const std::function<void(uint64_t)>& progress) {
  MergeResult result = Trainer(words, options).run(progress);
  release_free_memory();
  return result;
}

}  // namespace volt
