// Any bytes as a counts file or as text: merges do not depend on the number of threads, conserve
// characters, and name only tokens that exist.
#include <exception>

#include "counting/word_file.hpp"
#include "input.hpp"
#include "proposing/merge.hpp"

namespace {

volt::MergeResult learn(const volt::WordList& words, volt::MergeOptions options, unsigned threads) {
  options.threads = threads;
  const volt::WordView view{words.text.data(), words.offsets.data(), words.counts.data(), words.counts.size()};
  return volt::learn_merges(view, options, [](uint64_t) {});
}

void check(const volt::WordList& words, const volt::MergeResult& found, const volt::MergeOptions& options) {
  const size_t alphabet = found.alphabet_counts.size(), merges = found.left.size();
  promise(merges <= options.merges && found.lengths.size() == alphabet + merges, "a length for every token");
  uint64_t characters = 0, left_over = 0;
  for (size_t t = 0; t < alphabet; ++t) characters += found.alphabet_counts[t] * found.lengths[t];
  std::vector<uint64_t> frequency(found.alphabet_counts);
  for (size_t m = 0; m < merges; ++m) {
    const uint32_t left = found.left[m], right = found.right[m];
    promise(left < alphabet + m && right < alphabet + m, "parents come before their child");
    promise(found.lengths[alphabet + m] == found.lengths[left] + found.lengths[right], "lengths add up");
    promise(found.pair_counts[m] >= options.min_frequency, "no rare pair is merged");
    promise(0 < found.merge_counts[m] && found.merge_counts[m] <= found.pair_counts[m], "pairs, then merges");
    frequency[left] -= found.merge_counts[m];
    frequency[right] -= found.merge_counts[m];
    frequency.push_back(found.merge_counts[m]);
  }
  for (size_t t = 0; t < frequency.size(); ++t) {
    promise(frequency[t] <= characters + words.text.size(), "no frequency falls below zero");
    left_over += frequency[t] * found.lengths[t];
  }
  promise(left_over == characters, "characters are conserved");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  volt::MergeOptions options;
  options.pretokenizer = input.pretokenizer();
  const bool is_list = input.byte() & 1;
  const bool compare = input.byte() % 8 == 0;  // threads take long to start
  options.merges = input.byte();
  options.max_token_length = input.byte() % 8;
  options.min_frequency = 1 + input.byte() % 3;
  options.coverage = input.byte() % 4 == 0 ? 0.9 : 0;
  volt::Counter counter(options.pretokenizer, 64, 1, 0);
  try {
    if (is_list) {
      if (!volt::read_words(counter, input.data, input.size, true, 1).problem.empty()) return 0;
    } else if (counter.feed(input.data, input.size, true, 1).invalid_at >= 0) {
      return 0;
    }
    const uint64_t occurrences = counter.totals().words;
    const volt::WordList words = counter.finish(1);
    const volt::MergeResult found = learn(words, options, 1);
    if (occurrences < 1u << 30) check(words, found, options);
    if (!compare) return 0;
    const volt::MergeResult threaded = learn(words, options, 2);
    promise(found.left == threaded.left && found.right == threaded.right && found.text == threaded.text &&
                found.merge_counts == threaded.merge_counts && found.whole_words == threaded.whole_words,
            "threads change nothing");
  } catch (const std::exception&) {
    // Refused, in words.
  }
  return 0;
}
