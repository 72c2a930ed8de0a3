#include "proposing/likelihood.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/stop.hpp"

namespace volt {
namespace {

constexpr uint64_t kProgressEvery = 1000;

struct Pair {
  uint32_t left, right;
  uint64_t count = 0;
  double score = -1;            // of its newest entry in the queue
  std::vector<uint32_t> words;  // every word that contains the pair, and words that once did
};

// The order of merges: highest score; then the lower left id; then the lower right id.
struct Entry {
  double score;
  uint32_t left, right, pair;
  bool operator<(const Entry& other) const {
    if (score != other.score) return score < other.score;
    if (left != other.left) return left > other.left;
    return right > other.right;
  }
};

class Merger {
 public:
  Merger(const SpelledWords& words, std::vector<std::string> texts, std::vector<uint8_t> marked,
         const LikelihoodOptions& options)
      : options_(options), texts_(std::move(texts)), marked_(std::move(marked)) {
    lengths_.assign(texts_.size(), 1);
    counts_.assign(texts_.size(), 0);
    partners_.resize(texts_.size());
    words_.reserve(words.words);
    for (size_t w = 0; w < words.words; ++w) {
      poll();
      words_.emplace_back(words.symbols + words.offsets[w], words.symbols + words.offsets[w + 1]);
      word_counts_.push_back(words.counts[w]);
      for (const uint32_t symbol : words_.back()) counts_[symbol] += words.counts[w];
      count_pairs(static_cast<uint32_t>(w), true);
    }
    for (uint32_t p = 0; p < pairs_.size(); ++p) {
      poll();
      enter(p);
    }
    touched_.clear();
  }

  LikelihoodMerges run(const std::function<void(uint64_t)>& progress) {
    while (result_.left.size() < options_.merges && !queue_.empty()) {
      const Entry best = queue_.top();
      queue_.pop();
      if (best.score != pairs_[best.pair].score) continue;  // it was entered again
      pairs_[best.pair].score = -1;
      if (pairs_[best.pair].count < options_.min_frequency) continue;
      merge(best.pair);
      if (result_.left.size() % kProgressEvery == 0) progress(result_.left.size());
    }
    result_.offsets.push_back(0);
    for (const std::vector<uint32_t>& word : words_) {
      result_.tokens.insert(result_.tokens.end(), word.begin(), word.end());
      result_.offsets.push_back(result_.tokens.size());
    }
    return std::move(result_);
  }

 private:
  uint32_t pair_of(uint32_t a, uint32_t b) {
    const uint64_t key = uint64_t{a} << 32 | b;
    const auto [place, fresh] = index_.try_emplace(key, static_cast<uint32_t>(pairs_.size()));
    if (fresh) {
      pairs_.push_back({a, b, 0, -1, {}});
      partners_[a].push_back(place->second);
      if (a != b) partners_[b].push_back(place->second);
    }
    return place->second;
  }

  // Add the pairs of a word, or take them away.
  void count_pairs(uint32_t w, bool add) {
    const std::vector<uint32_t>& word = words_[w];
    for (size_t i = 1; i < word.size(); ++i) {
      if (!may_merge(word[i - 1], word[i])) continue;
      const uint32_t number = pair_of(word[i - 1], word[i]);
      Pair& pair = pairs_[number];
      pair.count += add ? word_counts_[w] : -word_counts_[w];
      if (add && (pair.words.empty() || pair.words.back() != w)) pair.words.push_back(w);
      touched_.push_back(number);
    }
  }

  bool may_merge(uint32_t a, uint32_t b) const {
    if (a == options_.unknown || b == options_.unknown) return false;
    if (options_.max_token_length != 0 && lengths_[a] + lengths_[b] > options_.max_token_length) return false;
    // Text that looks like a mark does not become a token: two tokens would be written alike.
    if (options_.mark == WordMark::none) return true;
    const std::string text = texts_[a] + texts_[b];
    if (options_.mark == WordMark::final)
      return marked_[b] || (!text.ends_with("</w>") && text != "<unk>");
    return marked_[a] || (!text.starts_with("##") && text != "<unk>");
  }

  void enter(uint32_t number) {
    Pair& pair = pairs_[number];
    const double score =
        pair.count < options_.min_frequency
            ? -1
            : static_cast<double>(pair.count) /
                  (static_cast<double>(counts_[pair.left]) * static_cast<double>(counts_[pair.right]));
    if (score == pair.score) return;
    pair.score = score;
    if (score >= 0) queue_.push({score, pair.left, pair.right, number});
  }

  void merge(uint32_t chosen) {
    const uint32_t a = pairs_[chosen].left, b = pairs_[chosen].right;
    const uint32_t made = static_cast<uint32_t>(texts_.size());
    result_.left.push_back(a);
    result_.right.push_back(b);
    result_.pair_counts.push_back(pairs_[chosen].count);
    texts_.push_back(texts_[a] + texts_[b]);
    marked_.push_back(options_.mark == WordMark::start ? marked_[a] : marked_[b]);
    lengths_.push_back(lengths_[a] + lengths_[b]);
    counts_.push_back(0);
    partners_.emplace_back();
    const std::vector<uint32_t> places = std::move(pairs_[chosen].words);
    for (const uint32_t w : places) {
      poll();
      std::vector<uint32_t>& word = words_[w];
      const auto starts = [&](size_t i) { return i + 1 < word.size() && word[i] == a && word[i + 1] == b; };
      bool has = false;
      for (size_t i = 0; i < word.size() && !has; ++i) has = starts(i);
      if (!has) continue;
      count_pairs(w, false);
      size_t out = 0;
      for (size_t i = 0; i < word.size(); ++i) {
        const bool joined = starts(i);
        if (joined) counts_[made] += word_counts_[w];
        word[out++] = joined ? made : word[i];
        i += joined;
      }
      word.resize(out);
      count_pairs(w, true);
    }
    counts_[a] -= counts_[made];
    counts_[b] -= counts_[made];
    result_.merge_counts.push_back(counts_[made]);
    // The pairs around it, and all others whose score changed because one of their tokens is now rarer.
    for (const uint32_t token : {a, b}) {
      std::erase_if(partners_[token], [&](uint32_t p) { return pairs_[p].count == 0; });
      touched_.insert(touched_.end(), partners_[token].begin(), partners_[token].end());
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const uint32_t number : touched_) {
      poll();
      enter(number);
    }
    touched_.clear();
  }

  const LikelihoodOptions& options_;
  std::vector<std::string> texts_;
  std::vector<uint8_t> marked_;
  std::vector<uint32_t> lengths_;
  std::vector<uint64_t> counts_;                 // of each token
  std::vector<std::vector<uint32_t>> partners_;  // the pairs each token is in
  std::vector<std::vector<uint32_t>> words_;
  std::vector<uint64_t> word_counts_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, uint32_t> index_;
  std::priority_queue<Entry> queue_;
  std::vector<uint32_t> touched_;
  LikelihoodMerges result_;
};

}  // namespace

LikelihoodMerges likelihood_merges(const SpelledWords& words, std::vector<std::string> alphabet,
                                   std::vector<uint8_t> marked, const LikelihoodOptions& options,
                                   const std::function<void(uint64_t)>& progress) {
  return Merger(words, std::move(alphabet), std::move(marked), options).run(progress);
}

}  // namespace volt
