// Between Python and C++: names of settings, and callbacks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "counting/pretokenizer.hpp"
#include "proposing/cuts.hpp"

inline volt::Pretokenizer pretokenizer_of(const std::string& name) {
  if (name == "whitespace") return volt::Pretokenizer::whitespace;
  if (name == "metaspace") return volt::Pretokenizer::metaspace;
  if (name == "byte-level") return volt::Pretokenizer::byte_level;
  if (name == "byte-level:cl100k") return volt::Pretokenizer::cl100k;
  if (name == "byte-level:llama3") return volt::Pretokenizer::llama3;
  if (name == "byte-level:qwen2") return volt::Pretokenizer::qwen2;
  if (name == "byte-level:o200k") return volt::Pretokenizer::o200k;
  if (name == "byte-level:deepseek") return volt::Pretokenizer::deepseek;
  if (name == "byte-level:starcoder") return volt::Pretokenizer::starcoder;
  if (name == "custom") return volt::Pretokenizer::custom;
  throw std::invalid_argument("unknown pre-tokenizer: " + name);
}

// What a text is: a line, or a whole document.
inline bool reads_documents(const std::string& reads) {
  if (reads != "line" && reads != "document") throw std::invalid_argument("unknown unit: " + reads);
  return reads == "document";
}

// Where the documents of a text of so many bytes end.
inline std::vector<uint64_t> document_ends(const ArrayIn<uint64_t>& ends, size_t bytes) {
  std::vector<uint64_t> stops(ends.data(), ends.data() + ends.size());
  if (!std::is_sorted(stops.begin(), stops.end()) || (stops.empty() ? 0 : stops.back()) != bytes)
    throw std::invalid_argument("`ends` must ascend to the size of the text");
  return stops;
}

inline volt::WordMark word_mark_of(const std::string& name) {
  if (name == "") return volt::WordMark::none;
  if (name == "##") return volt::WordMark::start;
  if (name == "</w>") return volt::WordMark::final;
  throw std::invalid_argument("unknown mark: " + name);
}

// Words as tokens: the tokens, and where each word starts.
using Cut = std::pair<Array<uint32_t>, Array<uint64_t>>;

inline Cut cut_to_numpy(volt::CutWords&& cut) {
  return {to_numpy(std::move(cut.tokens)), to_numpy(std::move(cut.offsets))};
}

// What becomes of characters without a token. Tokens are numbered up to `tokens`; byte tokens, or one token
// for all unknown characters if there is none, come after them.
inline volt::UnknownCharacter unknown_character(int64_t unknown, bool byte_fallback, size_t tokens,
                                                volt::Pretokenizer mode) {
  if (tokens + 256 >= volt::kNoToken) throw std::length_error("too many tokens");
  const auto next = static_cast<uint32_t>(tokens);
  return {unknown < 0 ? next : static_cast<uint32_t>(unknown), byte_fallback ? next : volt::kNoToken,
          mode == volt::Pretokenizer::metaspace};
}

using Progress = std::function<void(uint64_t)>;

// Report progress from code that runs without the interpreter's lock. Ctrl-C stops the work here.
inline Progress interruptible(const Progress& progress) {
  return [&progress](uint64_t done) {
    volt::poll_now();
    nanobind::gil_scoped_acquire acquire;
    progress(done);
  };
}
