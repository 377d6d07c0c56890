// The processes of a run at one comparison. Every process opens, indexes and matches, which is cheap and
// comes to the same everywhere; the nodes of a section are measured in pieces, by whoever asks for one, and
// process 0 judges and reports what comes back in the order of the report. So nothing of what it writes can
// depend on how many processes there are, or who is faster.
#pragma once

#include "assay/run/cluster/cluster.h"
#include "assay/run/cluster/journal.h"
#include "assay/run/cluster/pieces.h"
#include "assay/run/cluster/row_codec.h"
#include "assay/run/cluster/sight.h"
#include "assay/run/compare/shared_bands.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace assay {

// How this process does its share.
struct PieceWork {
  // Rows of nodes [first, last). bands: of a large piece, where its passes are shared out; else null.
  std::function<std::vector<NodeRows>(const WorkPiece& piece, SharedBands* bands)> measure;
  std::function<NodeResult(size_t node)> blank;  // a result of that node, without rows
  std::function<void(int64_t bytes)> progress;   // that others have measured
};

class Team : private SharedBands {
 public:
  // Null where this process works alone. made_by: what has to be the same for a journal to go on.
  static Result<std::unique_ptr<Team>> assemble(std::string_view made_by);
  ~Team() override;

  bool leads() const { return link_ == nullptr || link_->rank() == 0; }
  // The section that comes next, on every process alike; how it went here, where it could not be matched.
  void open_section() { ++section_; }
  void skip_section();
  void break_section(const Error& why);

  // Begins the measuring of a section. On a process that does not lead it is all of it.
  Result<void> measure_section(const Matched& matched, std::vector<WorkPiece> pieces, PieceWork work);
  // On process 0, one piece after another, in order; nothing when all have come. One thread at a time.
  Result<std::optional<std::vector<NodeRows>>> next();
  // On process 0: nobody asks for more of it.
  void leave_section();
  // The report is there.
  void finish();
  // Of a process that does not lead: it has done all it could, and says why that was not enough. The run ends
  // while it rests.
  template <class T>
  [[noreturn]] void rest(const Result<T>& outcome) {
    rest(outcome ? nullptr : &outcome.error());
  }

 private:
  // What messages say: the first five to process 0. Each is of a section.
  enum class Say : uint8_t { ready, files, result, broken, bands, any, piece, show, close, merged };
  struct Message {
    int from;
    std::string bytes;
  };
  Team(Link* link, std::optional<Journal> journal);

  void receive(int from, std::string_view bytes);
  void say(int to, Say what, std::string body = {});

  // Of process 0.
  void take_ready(int from, std::string_view body);
  void deal();
  void give(int to, size_t piece);
  Result<void> measure_here(size_t piece);
  Result<std::vector<NodeRows>> read(size_t piece, std::string_view work);
  [[noreturn]] void rest(const Error* trouble);
  std::string name_of(size_t piece) const;
  std::optional<size_t> own_piece();
  bool all_rest() const;

  // Of the others.
  Result<void> serve();
  Result<void> wait(const std::function<bool()>& is_over);
  std::string encode(const std::vector<NodeRows>& rows) const;

  // Of a large piece.
  bool takes(const GatherPlan& plan) const override;
  Result<Gathered> gather(int64_t bands, const GatherOne& one) override;
  bool is_any(bool own) override;
  Result<Message> wait_for(Say what, int from);

  Link* const link_;  // null: alone, with a journal
  std::optional<Journal> journal_;
  int64_t section_ = -1;
  const Matched* matched_ = nullptr;
  std::vector<WorkPiece> pieces_;
  PieceWork work_;
  std::optional<Sight> sight_;
  std::optional<StringPool> texts_;  // of a section: what is found in it may point to them
  std::optional<RowDecoder> decoder_;
  std::string digest_;

  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Message> inbox_;  // what is waited for by name
  std::optional<Error> error_;
  // Of process 0: by process, how many pieces it could take more; what others say of sections to come.
  std::vector<int> credits_;
  std::map<int64_t, std::vector<Message>> ready_;
  size_t next_dealt_ = 0, next_wanted_ = 0, elsewhere_ = 0;
  std::map<size_t, std::string> finished_;
  std::map<size_t, std::vector<NodeRows>> finished_here_;
  std::set<size_t> kept_;  // pieces that the journal has
};

// What comes from Team::next(), node by node.
class TeamRows {
 public:
  explicit TeamRows(Team& team) : team_(team) {}
  ~TeamRows() { team_.leave_section(); }
  TeamRows(const TeamRows&) = delete;
  TeamRows& operator=(const TeamRows&) = delete;

  // Adds the rows of the next node; false where there is none, or trouble.
  bool take(std::vector<NodeResult>& into);
  Result<void> outcome() const { return outcome_; }

 private:
  Team& team_;
  std::vector<NodeRows> arrived_;
  size_t taken_ = 0;
  Result<void> outcome_;
};

}  // namespace assay
