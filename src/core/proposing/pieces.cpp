#include "proposing/pieces.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"

namespace volt {

PieceTable piece_table(const KeyView& keys, const double* scores) {
  PieceTable table;
  for (size_t t = 0; t < keys.size; ++t) {
    poll();
    if (keys.inside[t])
      table.add(keys.text + keys.offsets[t], keys.offsets[t + 1] - keys.offsets[t],
                static_cast<uint32_t>(t), scores[t]);
  }
  table.finish();
  return table;
}

void marked_key(const WordView& words, size_t w, WordMark mark, std::vector<uint8_t>& key) {
  key.clear();
  if (mark == WordMark::start) key.push_back(kStartMark);
  key.insert(key.end(), words.begin(w), words.end(w));
  if (mark == WordMark::final) key.push_back(kFinalMark);
}

std::vector<uint64_t> count_pieces(const KeyView& keys, const double* scores, const WordView& words,
                                   const Matching& matching, WordMark mark, bool bytes_only,
                                   unsigned threads) {
  const PieceTable table = piece_table(keys, scores);
  std::vector<std::vector<uint64_t>> partial(threads);
  run_parallel(threads, [&](unsigned share) {
    std::vector<uint64_t>& frequency = partial[share];
    frequency.assign(keys.size + 1, 0);
    Matcher matcher(table, matching, bytes_only);
    std::vector<uint8_t> key;
    const size_t begin = words.words * share / threads, end = words.words * (share + 1) / threads;
    for (size_t w = begin; w < end; ++w) {
      poll();
      marked_key(words, w, mark, key);
      double base = 0;
      for (const Matcher::Piece& piece : matcher.cut(key.data(), key.size(), base))
        frequency[std::min<size_t>(piece.token, keys.size)] += words.counts[w];
    }
  });
  for (unsigned share = 1; share < threads; ++share)
    for (size_t t = 0; t <= keys.size; ++t) partial[0][t] += partial[share][t];
  return std::move(partial[0]);
}

std::vector<double> lift_scores(const KeyView& keys, const double* scores, bool bytes_only) {
  std::vector<double> lifted(scores, scores + keys.size);
  const auto bytes = [&](uint32_t t) { return keys.offsets[t + 1] - keys.offsets[t]; };
  std::vector<uint32_t> order(keys.size);
  std::iota(order.begin(), order.end(), 0);
  // Shorter tokens first: then everything a token can be cut into has its score. The token itself, and
  // what is as long, do not count yet.
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return bytes(a) < bytes(b); });
  Matching matching;
  matching.encoding = Encoding::unigram;
  matching.unknown_score = -1e9;
  constexpr double kNotYet = -1e300;
  PieceTable table = piece_table(keys, std::vector<double>(keys.size, kNotYet).data());
  Matcher matcher(table, matching, bytes_only);
  for (const uint32_t t : order) {
    poll();
    if (!keys.inside[t]) continue;
    const uint8_t* key = keys.text + keys.offsets[t];
    double sum = 0;
    const auto& cut = matcher.cut(key, bytes(t), sum);
    const bool known = std::all_of(cut.begin(), cut.end(),
                                   [](const Matcher::Piece& piece) { return piece.token != kNoToken; });
    if (known) lifted[t] = std::max(lifted[t], sum);
    table.set_score(key, bytes(t), lifted[t]);
  }
  return lifted;
}

}  // namespace volt
