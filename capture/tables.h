// Lines of tables that wait for their turn: a table gets them in the order of the calls, whichever of them is
// known first.
//
//   auto slot = tables.reserve("t.csv", "header\n");
//   *slot = {true, "a line\n"};
//   while (auto batch = tables.take()) { write it; tables.end(*batch); }
//
// A batch stays here until it is ended, so that what waits can be told at any time. Whoever calls holds a
// lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace assay::capture {

class Tables {
 public:
  struct Slot {
    bool is_ready = false;
    std::string text;  // empty: there is no line after all
  };
  struct Batch {
    std::string path, header, lines;
    int64_t count = 0;  // lines
    size_t slots = 0;
  };
  struct Waiting {
    std::string path;
    int64_t count = 0, bytes = 0;
  };

  std::shared_ptr<Slot> reserve(const std::string& path, const std::string& header);
  // The next lines that are ready, of a table that nobody has in hand.
  std::optional<Batch> take();
  void end(const Batch& batch);
  // Lines that are on no disk, those that somebody has in hand among them; `path` is that of any of them.
  Waiting waiting() const;
  void clear() { all_.clear(); }

 private:
  struct Table {
    std::string header;
    std::deque<std::shared_ptr<Slot>> slots;  // in the order of the calls
    bool is_in_hand = false;
  };
  std::unordered_map<std::string, Table> all_;  // those with lines that wait
};

}  // namespace assay::capture
