// Long words, whose tokens are linked to their neighbours. A merge touches only the places where the pair
// is, so learning takes O(n log n) for a word of n characters. Rows of tokens are scanned at every merge,
// which is faster for short words and quadratic for long ones: 100,000 letters took 4 s.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/stop.hpp"
#include "proposing/neighbours.hpp"
#include "proposing/pair_queue.hpp"
#include "proposing/word_rows.hpp"

namespace volt {

class LongWords {
 public:
  // Take the long words out of the rows, which are left empty. In lists of pairs a place in a long word is
  // written as a number above all rows.
  void take_from(WordRows& rows, unsigned shares) {
    base_ = rows.start(shares);
    for (unsigned share = 0; share < shares; ++share)
      rows.for_each_word(share, [&](const WordRow& word, uint32_t row) {
        if (word.length <= kLongest) return;
        add(word);
        rows.at(row).length = 0;
      });
    if (base_ + places_.size() >= kNone) throw std::length_error("the words are too long for one run");
  }

  bool empty() const { return places_.empty(); }
  // Where the entries of long words begin in a sorted list.
  const uint32_t* first(const uint32_t* first, const uint32_t* last) const {
    return empty() ? last : std::lower_bound(first, last, static_cast<uint32_t>(base_));
  }

  // Calls visit(left, right, count, entry) for every two neighbouring tokens.
  template <class Visit>
  void for_each_pair(Visit&& visit) const {
    PollEvery pace(kPace);
    for (uint32_t at = 0; at < places_.size(); ++at) {
      pace.done(1);
      const Place& place = places_[at];
      if (place.token != kNone && place.next != kNone)
        visit(place.token, places_[place.next].token, counts_[place.word], entry(at));
    }
  }

  // Merge a and b at the entries, from left to right.
  void rewrite(const uint32_t* first, const uint32_t* last, uint32_t a, uint32_t b, uint32_t made,
               uint32_t unknown, Changes& changes) {
    PollEvery pace(kPace);
    for (; first < last; ++first) {
      pace.done(1);
      const uint32_t at = *first - static_cast<uint32_t>(base_);
      Place& place = places_[at];
      if (place.token != a || place.next == kNone || places_[place.next].token != b) continue;
      const uint64_t count = counts_[place.word];
      const uint32_t before = place.before, joined = place.next, after = places_[joined].next;
      // A token that this merge has just made counted the two as doubled.
      if (before != kNone && places_[before].token != made && places_[before].token != unknown)
        changes.left.add(places_[before].token, entry(before), count);
      if (after != kNone) {
        const uint32_t beyond = places_[after].next;
        if (places_[after].token == a && beyond != kNone && places_[beyond].token == b) {
          changes.doubled += count;
          changes.doubled_words.push_back(entry(at));
        } else if (places_[after].token != unknown) {
          changes.right.add(places_[after].token, entry(at), count);
        }
        places_[after].before = at;
      }
      place.token = made;
      place.next = after;
      places_[joined].token = kNone;
      changes.merged += count;
      --lengths_[place.word];
    }
  }

  // Calls visit(token, count) for every word that is one token.
  template <class Visit>
  void for_each_whole_word(Visit&& visit) const {
    for (size_t word = 0; word < lengths_.size(); ++word)
      if (lengths_[word] == 1) visit(places_[starts_[word]].token, counts_[word]);
  }

 private:
  static constexpr uint32_t kLongest = 512;  // tokens of a word that stays a row
  static constexpr size_t kPace = 1 << 16;   // places between two looks whether to stop

  struct Place {
    uint32_t token;  // kNone: it was merged into the one before
    uint32_t before, next, word;
  };
  uint32_t entry(uint32_t at) const { return static_cast<uint32_t>(base_) + at; }
  void add(const WordRow& word) {
    const auto number = static_cast<uint32_t>(counts_.size());
    const auto start = static_cast<uint32_t>(places_.size());
    counts_.push_back(word.count);
    starts_.push_back(start);
    lengths_.push_back(word.length);
    for (uint32_t i = 0; i < word.length; ++i)
      places_.push_back({word.tokens()[i], i == 0 ? kNone : start + i - 1,
                         i + 1 == word.length ? kNone : start + i + 1, number});
  }

  uint64_t base_ = 0;
  std::vector<Place> places_;
  std::vector<uint64_t> counts_;            // by word
  std::vector<uint32_t> starts_, lengths_;  // by word: its first place, and its tokens now
};

}  // namespace volt
