// The two large parts of Hugging Face's `tokenizer.json`: the vocabulary and the merges of a BPE model.
// volt.reference.tokenizer_json has the slow twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace volt {

struct TokenizerJson {
  std::string rest;  // the file with `{}` for the vocabulary and `[]` for the merges
  // The vocabulary: tokens packed, in the order of the file, and their ids.
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
  std::vector<int64_t> ids;
  // Per merge: the left and the right token and what they make, as places in the vocabulary. The last is
  // negative if they make no token.
  std::vector<int64_t> joins;
};

// Cut a file into these parts. Nothing if it is not laid out as usual: `model.vocab` is a table of texts and
// ids, `model.merges` comes after it and is a list of pairs of its tokens, or of strings "left right", no key
// is there twice, and the whole is valid UTF-8 without lone surrogates. `rest` is not checked.
std::optional<TokenizerJson> split_tokenizer_json(const uint8_t* data, size_t bytes);

}  // namespace volt
