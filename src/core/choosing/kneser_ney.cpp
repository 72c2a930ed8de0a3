// An event is a token (or the end of a word) with the tokens before it, up to order - 1, nearest first.
// Events are distributed to buckets by the nearest token, and each bucket is sorted by the other tokens of
// the context and then by the token that is predicted. So the contexts of every length are contiguous.
// Equal events become one, with the sum of their counts. Counts of shorter n-grams are made in arrays with
// an item per token, which are cleared after each context.

#include "choosing/kneser_ney.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/huge.hpp"
#include "base/stop.hpp"

namespace volt {
namespace {

__extension__ using Wide = unsigned __int128;

// A sum whose error does not grow with the number of terms (Neumaier 1974).
class Sum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

struct Weight {
  uint64_t train, held;
};

// The counts of an event as a number of few bits. Most counts are small, and their number tells them.
class WeightTable {
 public:
  uint32_t number_of(Weight weight) {
    if (weight.train < kTrain && weight.held < kHeld)
      return static_cast<uint32_t>(weight.train * kHeld + weight.held);
    large_.push_back(weight);
    return static_cast<uint32_t>(kTrain * kHeld + large_.size() - 1);
  }
  Weight operator[](uint32_t number) const {
    if (number < kTrain * kHeld) return {number / kHeld, number % kHeld};
    return large_[number - kTrain * kHeld];
  }
  // Bits of a number when the table gets so many weights.
  static unsigned bits(uint64_t weights) { return std::bit_width(kTrain * kHeld + weights); }

 private:
  static constexpr uint64_t kTrain = 64, kHeld = 16;
  std::vector<Weight> large_;
};

// One discount per order (METHOD 6): n1 / (n1 + 2 n2), of the n-grams with a count of one and of two.
struct Discount {
  uint64_t ones = 0, twos = 0;
  void see(uint64_t count) {
    ones += count == 1;
    twos += count == 2;
  }
  double value() const {
    if (ones + twos == 0) return 0.5;
    const double n1 = static_cast<double>(ones), n2 = static_cast<double>(twos);
    return std::clamp(n1 / (n1 + 2 * n2), 0.05, 0.95);
  }
};

// How a context divides its mass: counts above a discount, the rest for shorter contexts. A context that
// was never seen passes everything on.
struct Share {
  double discount = 0, scale = 0, rest = 1;
  Share() = default;
  Share(double its_discount, uint64_t total, uint64_t types) : discount(its_discount) {
    if (total == 0) return;
    scale = 1 / static_cast<double>(total);
    rest = discount * static_cast<double>(types) * scale;
  }
  double probability(uint64_t count, double shorter) const {
    return (count == 0 ? 0 : (static_cast<double>(count) - discount) * scale) + rest * shorter;
  }
};

// An event inside its bucket is a number: the tokens of the context but for the nearest, the token, and the
// number of its weight, from high bits to low.
template <class Key>
class Model {
 public:
  Model(const TokenWords& words, const KneserNeyOptions& options, size_t ids, unsigned weight_bits)
      : words_(words),
        options_(options),
        order_(options.order),
        end_(static_cast<uint32_t>(ids)),
        start_(static_cast<uint32_t>(ids + 1)),
        bits_(std::bit_width(ids + 1)),
        weight_bits_(weight_bits),
        unigrams_(ids + 1, 0),
        levels_(order_) {
    for (unsigned k = 2; k < order_; ++k) levels_[k].counts.assign(ids + 1, 0);
    for (unsigned k = 2; k + 1 < order_; ++k) levels_[k].seen.assign(ids + 1, 0);
  }

  HeldOutLoss run() {
    const std::vector<Weight> first = survey();
    if (order_ == 1) {
      for (size_t token = 0; token < first.size(); ++token) unigrams_[token] = first[token].train;
      fit_unigrams();
      for (size_t token = 0; token < first.size(); ++token) lose(first[token].held, lowest_[token]);
      return {sum_.value(), predicted_};
    }
    collect(first);
    PollEvery pace(1 << 14);
    for (size_t bucket = 0; bucket < ends_.size(); ++bucket) {
      pace.done(ends_[bucket] - begins_[bucket] + 1);
      reduce(bucket);
      if (order_ > 2) tally(2, begin(bucket), end(bucket));
    }
    fit_unigrams();
    for (unsigned k = 2; k <= order_; ++k) discount_[k] = discounts_[k].value();
    for (size_t bucket = 0; bucket < ends_.size(); ++bucket) {
      pace.done(ends_[bucket] - begins_[bucket] + 1);
      score(2, begin(bucket), end(bucket));
    }
    return {sum_.value(), predicted_};
  }

 private:
  using Entry = const Key*;
  // Buckets of at least kFew events are sorted by digits of 8 bits, of at least kMany by digits of 11.
  static constexpr size_t kFew = 200, kMany = 1 << 12;

  // An order between the lowest and the highest, for the context that is being looked at.
  struct Level {
    std::vector<uint32_t> counts;  // per token: different tokens before the context
    std::vector<uint64_t> seen;    // per token: the last of those contexts that are longer by one
    std::vector<uint32_t> tokens;  // those with a count
    uint64_t total = 0;
    Share share;
  };

  uint32_t token_of(Key key) const {
    return static_cast<uint32_t>(key >> weight_bits_) & ((uint32_t{1} << bits_) - 1);
  }
  Weight weight_of(Key key) const {
    return weights_[static_cast<uint32_t>(key) & ((uint32_t{1} << weight_bits_) - 1)];
  }
  // The part of a key that events with the same k nearest tokens share.
  Key context_of(Key key, unsigned k) const { return key >> (weight_bits_ + bits_ * (order_ - k)); }

  // The end of the events that have the same k nearest tokens as the first.
  Entry same_context(Entry begin, Entry end, unsigned k) const {
    const Key context = context_of(*begin, k);
    while (begin < end && context_of(*begin, k) == context) ++begin;
    return begin;
  }

  Entry begin(size_t bucket) const { return entries_.data() + begins_[bucket]; }
  Entry end(size_t bucket) const { return entries_.data() + ends_[bucket]; }

  // ---------------------------------------------------------------------------------------- the events

  // The sizes of the buckets. Events without a token in their context, which are those of order 1 and the
  // first of each word, are summed per token.
  std::vector<Weight> survey() {
    std::vector<Weight> first(end_ + 1, Weight{0, 0});
    begins_.assign(end_ + 1, 0);
    for_each_word([&](const uint32_t* tokens, size_t length, Weight weight) {
      const size_t events = length + options_.ends;
      predicted_ += weight.held * events;
      for (size_t i = 0; i < (order_ == 1 ? events : std::min<size_t>(1, events)); ++i) {
        Weight& sum = first[i < length ? tokens[i] : end_];
        sum.train += weight.train;
        sum.held += weight.held;
      }
      for (size_t i = 1; i < events; ++i) ++begins_[tokens[i - 1] + 1];
    });
    for (size_t token = 0; token < end_; ++token) begins_[token + 1] += begins_[token];
    return first;
  }

  // The events of all words, in buckets. The last bucket is for the first events of words.
  void collect(const std::vector<Weight>& first) {
    const auto occurs = [](Weight weight) { return weight.train != 0 || weight.held != 0; };
    ends_ = begins_;
    entries_.resize(begins_.back() + std::count_if(first.begin(), first.end(), occurs));
    for_each_word([&](const uint32_t* tokens, size_t length, Weight weight) {
      const uint32_t number = weights_.number_of(weight);
      for (size_t i = 1; i < length + options_.ends; ++i) {
        Key key = 0;
        for (size_t k = 2; k < order_; ++k) key = key << bits_ | (k <= i ? tokens[i - k] : start_);
        key = key << bits_ | (i < length ? tokens[i] : end_);
        entries_[ends_[tokens[i - 1]]++] = key << weight_bits_ | number;
      }
    });
    Key context = 0;
    for (size_t k = 2; k < order_; ++k) context = context << bits_ | start_;
    for (uint32_t token = 0; token <= end_; ++token) {
      if (!occurs(first[token])) continue;
      entries_[ends_.back()++] = (context << bits_ | token) << weight_bits_ | weights_.number_of(first[token]);
    }
  }

  template <class Visit>
  void for_each_word(Visit&& visit) const {
    for (size_t w = 0; w < words_.words; ++w) {
      poll();
      if (words_.train[w] != 0 || words_.held[w] != 0)
        visit(words_.tokens + words_.offsets[w], words_.offsets[w + 1] - words_.offsets[w],
              Weight{words_.train[w], words_.held[w]});
    }
  }

  // Large buckets are sorted digit by digit, from low to high. The bits of weights need no order.
  void sort(Key* begin, Key* end) {
    const size_t size = static_cast<size_t>(end - begin);
    if (size < kFew) return std::sort(begin, end);
    const unsigned bits = bits_ * (order_ - 1), widest = size < kMany ? 8 : 11;
    const unsigned digits = (bits + widest - 1) / widest, width = (bits + digits - 1) / digits;
    const uint32_t mask = (uint32_t{1} << width) - 1;
    scratch_.resize(std::max(scratch_.size(), size));
    Key *from = begin, *to = scratch_.data();
    for (unsigned shift = weight_bits_; shift < weight_bits_ + bits; shift += width) {
      poll();
      std::array<uint32_t, 1 << 11> places{};
      for (size_t i = 0; i < size; ++i) ++places[static_cast<uint32_t>(from[i] >> shift) & mask];
      for (uint32_t digit = 0, place = 0; digit <= mask; ++digit) place += std::exchange(places[digit], place);
      for (size_t i = 0; i < size; ++i) to[places[static_cast<uint32_t>(from[i] >> shift) & mask]++] = from[i];
      std::swap(from, to);
    }
    if (from != begin) std::copy_n(from, size, begin);
  }

  // Sort a bucket, and make equal events one.
  void reduce(size_t bucket) {
    Key* begin = entries_.data() + begins_[bucket];
    Key* end = entries_.data() + ends_[bucket];
    sort(begin, end);
    Key* out = begin;
    for (Key* entry = begin; entry < end;) {
      const Key event = *entry >> weight_bits_;
      Key* next = entry + 1;
      Weight weight = weight_of(*entry);
      for (; next < end && *next >> weight_bits_ == event; ++next) {
        const Weight more = weight_of(*next);
        weight.train += more.train;
        weight.held += more.held;
      }
      *out++ = next - entry == 1 ? *entry : event << weight_bits_ | weights_.number_of(weight);
      discounts_[order_].see(weight.train);
      if (order_ == 2) unigrams_[token_of(*entry)] += weight.train > 0;
      entry = next;
    }
    ends_[bucket] = static_cast<uint64_t>(out - entries_.data());
  }

  // ---------------------------------------------------------------------------------------- the counts

  // Count the k-grams of one context: how many different tokens stand before them.
  void count(unsigned k, Entry begin, Entry end) {
    Level& level = levels_[k];
    const bool next_to_highest = k + 1 == order_;
    Key longer = 0;
    for (Entry entry = begin; entry < end; ++entry) {
      if (!next_to_highest) {
        const Key context = context_of(*entry, k);
        if (entry == begin || context != longer) ++serial_;
        longer = context;
      }
      if (weight_of(*entry).train == 0) continue;
      const uint32_t token = token_of(*entry);
      if (!next_to_highest) {
        if (level.seen[token] == serial_) continue;
        level.seen[token] = serial_;
      }
      if (level.counts[token]++ == 0) level.tokens.push_back(token);
      ++level.total;
    }
  }

  void clear(unsigned k) {
    Level& level = levels_[k];
    for (const uint32_t token : level.tokens) level.counts[token] = 0;
    level.tokens.clear();
    level.total = 0;
  }

  // What the discounts of the orders from k on and the unigrams need of one context.
  void tally(unsigned k, Entry begin, Entry end) {
    count(k, begin, end);
    for (const uint32_t token : levels_[k].tokens) {
      discounts_[k].see(levels_[k].counts[token]);
      if (k == 2) ++unigrams_[token];
    }
    clear(k);
    if (k + 1 == order_) return;
    for (Entry next; begin < end; begin = next) {
      next = same_context(begin, end, k);
      tally(k + 1, begin, next);
    }
  }

  // ----------------------------------------------------------------------------------------- the score

  void fit_unigrams() {
    uint64_t total = 0, types = 0;
    for (const uint64_t count : unigrams_) {
      discounts_[1].see(count);
      total += count;
      types += count > 0;
    }
    const Share share(discounts_[1].value(), total, types);
    const double uniform = 1 / static_cast<double>(options_.rows + options_.ends);
    lowest_.resize(unigrams_.size());
    for (size_t token = 0; token < unigrams_.size(); ++token)
      lowest_[token] = share.probability(unigrams_[token], uniform);
  }

  void lose(uint64_t held, double probability) {
    if (held != 0) sum_.add(static_cast<double>(held) * -std::log(probability));
  }

  void score(unsigned k, Entry begin, Entry end) {
    if (std::none_of(begin, end, [&](Key key) { return weight_of(key).held != 0; })) return;
    if (k == order_) return score_highest(begin, end);
    count(k, begin, end);
    Level& level = levels_[k];
    level.share = Share(discount_[k], level.total, level.tokens.size());
    for (Entry next; begin < end; begin = next) {
      next = same_context(begin, end, k);
      score(k + 1, begin, next);
    }
    clear(k);
  }

  void score_highest(Entry begin, Entry end) {
    uint64_t total = 0, types = 0;
    for (Entry entry = begin; entry < end; ++entry) {
      const uint64_t train = weight_of(*entry).train;
      total += train;
      types += train > 0;
    }
    const Share share(discount_[order_], total, types);
    for (Entry entry = begin; entry < end; ++entry) {
      const Weight weight = weight_of(*entry);
      if (weight.held == 0) continue;
      const uint32_t token = token_of(*entry);
      double probability = lowest_[token];
      for (unsigned k = 2; k < order_; ++k)
        probability = levels_[k].share.probability(levels_[k].counts[token], probability);
      lose(weight.held, share.probability(weight.train, probability));
    }
  }

  const TokenWords words_;
  const KneserNeyOptions options_;
  const unsigned order_;
  const uint32_t end_, start_;  // the end of a word as a token, and what stands before its first
  const unsigned bits_, weight_bits_;
  WeightTable weights_;
  HugeVector<Key> entries_, scratch_;
  std::vector<uint64_t> begins_, ends_;  // of the buckets
  std::vector<uint64_t> unigrams_;
  std::vector<double> lowest_;  // the probability of each token without a context
  std::vector<Level> levels_;
  std::array<Discount, kHighestOrder + 1> discounts_;
  std::array<double, kHighestOrder + 1> discount_{};
  uint64_t serial_ = 0;
  Sum sum_;
  uint64_t predicted_ = 0;
};

}  // namespace

constexpr size_t kMostTokens = size_t{1} << 28;

HeldOutLoss kneser_ney(const TokenWords& all, const KneserNeyOptions& options) {
  const uint64_t size = all.offsets[all.words];
  // The tokens that occur are numbered without gaps, in the same order: arrays with an item per token, and the
  // loops over them, would be large where one language of many has few of all tokens.
  const size_t most = size == 0 ? 0 : size_t{*std::max_element(all.tokens, all.tokens + size)} + 1;
  if (most > kMostTokens) throw std::length_error("too many tokens for a model");
  std::vector<uint32_t> number(most, 0);
  for (uint64_t i = 0; i < size; ++i) number[all.tokens[i]] = 1;
  uint32_t ids = 0;
  for (uint32_t& one : number) one = one == 0 ? 0 : ids++;
  HugeVector<uint32_t> tokens(size);
  for (uint64_t i = 0; i < size; ++i) tokens[i] = number[all.tokens[i]];
  const TokenWords words{tokens.data(), all.offsets, all.train, all.held, all.words};
  const unsigned bits = std::bit_width(ids + 1);
  const unsigned weight_bits = WeightTable::bits(words.words + ids + 1 + (size + words.words) / 2);
  const unsigned key_bits = bits * (options.order - 1) + weight_bits;
  if (weight_bits > 31 || bits > 31 || key_bits > 128)
    throw std::length_error("too many tokens for a model of this order");
  if (key_bits <= 64) return Model<uint64_t>(words, options, ids, weight_bits).run();
  return Model<Wide>(words, options, ids, weight_bits).run();
}

}  // namespace volt
