// The hot loops of the core without Python around them, for callgrind and for perf.
//
//     hot_loops TEXT [LOOP...]
//
// Loops: count, merge, cut, quality, encode; all of them if none is named. What a loop needs is made by
// those before it. Prints the CPU time of each and a number that depends on all of its result.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "choosing/kneser_ney.hpp"
#include "choosing/thin.hpp"
#include "counting/count.hpp"
#include "proposing/cuts.hpp"
#include "proposing/merge.hpp"
#include "tokenizing/line_encoder.hpp"

namespace {

constexpr auto kWords = volt::Pretokenizer::metaspace;
constexpr uint64_t kMerges = 100'000;

struct State {
  std::vector<uint8_t> text;
  volt::WordList words;
  volt::MergeResult merges;
  std::vector<uint64_t> train, held;
  volt::CutWords cut;

  volt::WordView view() const {
    return {words.text.data(), words.offsets.data(), words.counts.data(), words.counts.size()};
  }
  volt::MergeView merge_view() const {
    return {merges.left.data(), merges.right.data(), merges.alphabet_counts.size(), merges.left.size()};
  }
};

// A vocabulary in columns: byte tokens, the alphabet, and the merges.
struct Vocabulary {
  std::vector<uint8_t> text, kinds, marks;
  std::vector<uint64_t> offsets{0}, ranks;
  std::vector<uint32_t> left, right;
  std::vector<double> scores;

  explicit Vocabulary(const volt::MergeResult& found) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto one = static_cast<uint8_t>(byte);
      add(&one, 1, volt::TokenKind::byte, 0, 0);
    }
    const size_t alphabet = found.alphabet_counts.size();
    for (size_t t = 0; t < found.lengths.size(); ++t) {
      const bool merged = t >= alphabet;
      add(found.text.data() + found.offsets[t], found.offsets[t + 1] - found.offsets[t],
          merged ? volt::TokenKind::merged : volt::TokenKind::character,
          merged ? 256 + found.left[t - alphabet] : 0, merged ? 256 + found.right[t - alphabet] : 0);
    }
  }
  void add(const uint8_t* begin, size_t bytes, volt::TokenKind kind, uint32_t first, uint32_t second) {
    text.insert(text.end(), begin, begin + bytes);
    offsets.push_back(text.size());
    kinds.push_back(static_cast<uint8_t>(kind));
    marks.push_back(0);
    ranks.push_back(kinds.size());
    left.push_back(first);
    right.push_back(second);
    scores.push_back(0);
  }
  volt::TokenView view() const {
    return {text.data(),  offsets.data(), kinds.data(),  marks.data(), left.data(), right.data(),
            ranks.data(), scores.data(),  kinds.size(), kinds.size(), volt::kNoToken, false};
  }
};

template <class Item>
uint64_t digest(const Item* items, size_t size, uint64_t sum = 0) {
  for (size_t i = 0; i < size; ++i) sum = (sum ^ static_cast<uint64_t>(items[i])) * 0x9E3779B97F4A7C15ull;
  return sum;
}

}  // namespace

// The names that callgrind collects by. Each is called once.
extern "C" {

[[gnu::noinline]] uint64_t hot_count(State& state) {
  volt::Counter counter(kWords, 64, 1, 0);
  counter.feed(state.text.data(), state.text.size(), true, 1);
  state.words = counter.finish(1);
  return digest(state.words.counts.data(), state.words.counts.size());
}

[[gnu::noinline]] uint64_t hot_merge(State& state) {
  volt::MergeOptions options;
  options.pretokenizer = kWords;
  options.merges = kMerges;
  state.merges = volt::learn_merges(state.view(), options, [](uint64_t) {});
  return digest(state.merges.merge_counts.data(), state.merges.merge_counts.size());
}

[[gnu::noinline]] uint64_t hot_cut(State& state) {
  state.held = volt::thin(state.view(), 0, 0);
  state.train = state.words.counts;
  for (size_t w = 0; w < state.train.size(); ++w) state.train[w] -= state.held[w];
  // Symbols are looked up by character.
  std::vector<uint32_t> characters;
  for (size_t s = 0; s < state.merges.alphabet_counts.size(); ++s) {
    if (static_cast<int64_t>(s) == state.merges.unknown) characters.push_back(volt::kNoToken);
    else characters.push_back(volt::decode(state.merges.text.data() + state.merges.offsets[s]).code_point);
  }
  const std::vector<uint8_t> ends(characters.size(), 0);
  const volt::SymbolView symbols{characters.data(), ends.data(), characters.size(), false, false};
  const volt::UnknownCharacter unknown{volt::kNoToken, static_cast<uint32_t>(state.merges.lengths.size()), true};
  state.cut = volt::cut_by_merges(state.view(), symbols, state.merge_view(), unknown, 1);
  return digest(state.cut.tokens.data(), state.cut.tokens.size());
}

[[gnu::noinline]] uint64_t hot_quality(State& state) {
  double sum = 0;
  const size_t words = state.words.counts.size();
  for (uint64_t row = kMerges; row >= 500; row = row * 2 / 3) {
    const size_t kept = std::min<size_t>(row, state.merges.left.size());
    const volt::CutWords cut =
        volt::undo_merges(state.cut.tokens.data(), state.cut.offsets.data(), words, state.merge_view(), kept);
    const volt::TokenWords part{cut.tokens.data(), cut.offsets.data(), state.train.data(), state.held.data(), words};
    sum += volt::kneser_ney(part, {kept + 512, 3, true}).nats;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, &sum, sizeof bits);
  return bits;
}

[[gnu::noinline]] uint64_t hot_encode(State& state) {
  const Vocabulary vocabulary(state.merges);
  const volt::Encoder encoder(kWords, volt::MergeRule::pairs, {}, vocabulary.view());
  volt::LineEncoder lines(encoder, {}, {}, 1, false);
  lines.feed(state.text.data(), state.text.size(), true);
  lines.collect();
  return digest(lines.collected().data(), lines.collected().size());
}
}

int main(int arguments, char** names) {
  if (arguments < 2) return std::fputs("usage: hot_loops TEXT [LOOP...]\n", stderr), 2;
  std::ifstream file(names[1], std::ios::binary);
  if (!file) return std::fprintf(stderr, "%s: can't be read\n", names[1]), 2;
  State state;
  state.text.assign(std::istreambuf_iterator<char>(file), {});
  const std::pair<const char*, uint64_t (*)(State&)> loops[] = {
      {"count", hot_count}, {"merge", hot_merge}, {"cut", hot_cut}, {"quality", hot_quality}, {"encode", hot_encode}};
  for (const auto& [name, loop] : loops) {
    bool wanted = arguments == 2;
    for (int i = 2; i < arguments; ++i) wanted |= std::strcmp(names[i], name) == 0;
    if (!wanted && std::strcmp(name, "encode") == 0) continue;
    const std::clock_t started = std::clock();
    const uint64_t result = loop(state);
    const double seconds = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    if (wanted) std::printf("%-8s %8.3f s  %016llx\n", name, seconds, static_cast<unsigned long long>(result));
  }
}
