// What one merge changes: the tokens beside the merged pair, and the words where they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace volt {

// One neighbouring token: how often it is beside the pair, and in which words.
struct Neighbour {
  uint32_t token;
  uint32_t events = 0;
  uint64_t count = 0;
  uint32_t* words = nullptr;  // where the next word of its new pair goes; null if there is no such pair
  uint32_t gathered = 0;      // its place among the neighbours of all threads
};

// The neighbours on one side of the pair.
class Neighbours {
 public:
  std::vector<Neighbour> all;

  // Make room for tokens up to `tokens`.
  void reserve(size_t tokens) {
    if (places_.size() < tokens) places_.resize(std::max<size_t>(tokens * 2, 1024));
  }
  void add(uint32_t token, uint32_t row, uint64_t count) {
    const uint32_t place = place_of(token);
    ++all[place].events;
    all[place].count += count;
    events_.push_back({place, row});
  }
  // Add what another thread has found.
  void gather(Neighbours& from) {
    if (this == &from) {
      for (uint32_t place = 0; place < all.size(); ++place) all[place].gathered = place;
      return;
    }
    if (places_.size() < from.places_.size()) places_.resize(from.places_.size());
    for (Neighbour& neighbour : from.all) {
      neighbour.gathered = place_of(neighbour.token);
      all[neighbour.gathered].events += neighbour.events;
      all[neighbour.gathered].count += neighbour.count;
    }
  }
  // Write the words where these neighbours were found to the lists of the new pairs, which are known to
  // `gathered`.
  void scatter(Neighbours& gathered) const {
    for (const Event& event : events_)
      if (uint32_t*& list = gathered.all[all[event.place].gathered].words) *list++ = event.row;
  }
  void clear() {
    for (const Neighbour& neighbour : all) places_[neighbour.token] = 0;
    all.clear();
    events_.clear();
  }

 private:
  struct Event {
    uint32_t place, row;
  };
  uint32_t place_of(uint32_t token) {
    uint32_t& place = places_[token];
    if (place == 0) {
      all.push_back({token});
      place = static_cast<uint32_t>(all.size());
    }
    return place - 1;
  }

  std::vector<uint32_t> places_;  // by token: 1 + its place in `all`, or 0
  std::vector<Event> events_;
};

// What one thread has found.
struct Changes {
  Neighbours left, right;
  uint64_t merged = 0;
  uint64_t doubled = 0;  // two new tokens side by side
  std::vector<uint32_t> doubled_words;
};

}  // namespace volt
