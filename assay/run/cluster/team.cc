#include "assay/run/cluster/team.h"

#include "assay/base/cancel.h"
#include "assay/run/cluster/gathered_codec.h"
#include "assay/support/log_tap.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace assay {
namespace {

using namespace std::chrono_literals;

// A process has one piece at work and some at hand, so that it never waits for an answer.
constexpr int kAtHand = 4;
// How far measuring may be ahead of writing, in pieces for each process: these many results wait at most.
constexpr size_t kAhead = 8;

// What others say while they measure is said where the rows are written.
struct Overheard {
  std::mutex guard;
  std::vector<std::pair<log::Level, std::string>> lines;
};
Overheard overheard;

void put_error(const Error& error, Encoder& out) {
  out.put(error.kind);
  out.text(error.message);
}

Error error_of(Decoder& in) {
  const auto kind = in.get<ErrorKind>();
  return {kind, std::string(in.text())};
}

// Of a large piece; each process holds so many at once.
constexpr size_t kBandsAtATime = 8;

std::string encode_bands(const std::vector<Result<Gathered>>& bands) {
  Encoder out;
  out.put(static_cast<uint64_t>(bands.size()));
  for (const Result<Gathered>& band : bands) {
    out.put(band.has_value());
    if (band)
      encode_gathered(*band, out);
    else
      put_error(band.error(), out);
  }
  return out.take();
}

std::vector<Result<Gathered>> decode_bands(std::string_view bytes) {
  Decoder in(bytes);
  std::vector<Result<Gathered>> bands;
  for (auto count = in.get<uint64_t>(); count > 0; --count) {
    if (in.get<bool>())
      bands.emplace_back(decode_gathered(in));
    else
      bands.emplace_back(tl::unexpected<Error>(error_of(in)));
  }
  return bands;
}

}  // namespace

Result<std::unique_ptr<Team>> Team::assemble(std::string_view made_by) {
  Link* const link = cluster_link();
  std::optional<Journal> journal;
  if (const fs::path path = cluster_journal(); !path.empty() && (link == nullptr || link->rank() == 0)) {
    ASSAY_TRY(Journal opened, Journal::open(path, made_by));
    journal.emplace(std::move(opened));
    if (journal->kept_before() > 0)
      log::info("{}: goes on behind {} pieces of work", display(path), journal->kept_before());
  }
  if (link == nullptr && !journal) return std::unique_ptr<Team>();
  return std::unique_ptr<Team>(new Team(link, std::move(journal)));
}

Team::Team(Link* link, std::optional<Journal> journal)
    : link_(link),
      journal_(std::move(journal)),
      credits_(link == nullptr ? 1 : static_cast<size_t>(link->size())) {
  if (link_ == nullptr) return;
  if (!leads())
    log::set_tap([](log::Level level, std::string_view text) {
      const std::lock_guard lock(overheard.guard);
      overheard.lines.emplace_back(level, text);
    });
  link_->wake_others();
  link_->listen([this](int from, std::string_view bytes) { receive(from, bytes); });
}

Team::~Team() {
  if (link_ != nullptr) link_->listen({});
}

void Team::say(int to, Say what, std::string body) {
  Encoder out;
  out.put(what);
  out.put(section_);
  link_->send(to, out.take() + std::move(body));
}

void Team::break_section(const Error& why) {
  if (leads()) return;
  Encoder out;
  put_error(why, out);
  say(0, Say::broken, out.take());
}

void Team::rest(const Error* trouble) {
  if (section_ < 0) open_section();  // whatever comes first would miss us
  if (trouble != nullptr) break_section(*trouble);
  for (;;) std::this_thread::sleep_for(1h);
}

void Team::skip_section() {
  if (link_ == nullptr || !leads()) return;
  for (int other = 1; other < link_->size(); ++other) say(other, Say::close);
}

void Team::receive(int from, std::string_view bytes) {
  const std::lock_guard lock(guard_);
  if (bytes.empty()) {
    error_ = Error{ErrorKind::io, fmt::format("{}: process {} is lost; nothing half-written is left behind",
                                              link_->host_of(from), from)};
    changed_.notify_all();
    return;
  }
  Decoder in(bytes);
  const auto what = in.get<Say>();
  const auto section = in.get<int64_t>();
  if (leads() && what == Say::result && section == section_) {
    const auto piece = static_cast<size_t>(in.get<uint64_t>());
    finished_[piece] = in.rest();
    ++elsewhere_;
    ++credits_[static_cast<size_t>(from)];
    deal();
  } else if (leads() && what == Say::files && section == section_) {
    error_ = Error{ErrorKind::mismatch,
                   sight_->difference(Sight::decode(in.rest()), link_->host_of(0), link_->host_of(from))};
  } else if (leads() && (what == Say::ready || what == Say::broken)) {
    ready_[section].push_back({from, std::string(bytes)});
    if (section == section_ && matched_ != nullptr) take_ready(from, bytes);
  } else {
    inbox_.push_back({from, std::string(bytes)});
  }
  changed_.notify_all();
}

// guard_ is held.
void Team::take_ready(int from, std::string_view bytes) {
  Decoder in(bytes);
  const auto what = in.get<Say>();
  in.get<int64_t>();
  if (what == Say::broken) {
    const Error why = error_of(in);
    error_ = Error{why.kind, fmt::format("{}: process {}: {}", link_->host_of(from), from, why.message)};
    return;
  }
  if (in.rest() != digest_) {
    say(from, Say::show);  // what it sees, to tell it apart
    return;
  }
  credits_[static_cast<size_t>(from)] = kAtHand;
}

std::string Team::name_of(size_t piece) const {
  return fmt::format("{}:{}:{}-{}", section_, digest_, pieces_[piece].first, pieces_[piece].last);
}

// guard_ is held. Pieces go out in order, no further ahead than process 0 has room for. A large one waits
// until everybody is at rest, and so does what comes behind it.
void Team::deal() {
  const size_t window = next_wanted_ + kAhead * credits_.size();
  for (; next_dealt_ < std::min(window, pieces_.size()); ++next_dealt_) {
    if (kept_.contains(next_dealt_)) continue;
    if (pieces_[next_dealt_].is_large) return;
    const auto most = std::max_element(credits_.begin() + 1, credits_.end());
    if (most == credits_.end() || *most <= 0) return;
    give(static_cast<int>(most - credits_.begin()), next_dealt_);
  }
}

void Team::give(int to, size_t piece) {
  --credits_[static_cast<size_t>(to)];
  Encoder out;
  out.put(static_cast<uint64_t>(piece));
  say(to, Say::piece, out.take());
}

// guard_ is held: all others have nothing to do.
bool Team::all_rest() const {
  return std::all_of(credits_.begin() + 1, credits_.end(), [](int credits) { return credits == kAtHand; });
}

// guard_ is held: a piece for this process; nothing where all are taken, or have to wait.
std::optional<size_t> Team::own_piece() {
  deal();
  if (next_dealt_ >= pieces_.size() || next_dealt_ >= next_wanted_ + kAhead * credits_.size())
    return std::nullopt;
  if (pieces_[next_dealt_].is_large) {
    if (!all_rest()) return std::nullopt;
    for (size_t other = 1; other < credits_.size(); ++other) give(static_cast<int>(other), next_dealt_);
  }
  return next_dealt_++;
}

std::string Team::encode(const std::vector<NodeRows>& rows) const {
  Encoder out;
  {
    const std::lock_guard lock(overheard.guard);
    out.put(static_cast<uint64_t>(overheard.lines.size()));
    for (const auto& [level, text] : overheard.lines) {
      out.put(level);
      out.text(text);
    }
    overheard.lines.clear();
  }
  for (const NodeRows& each : rows) encode_node(each, *matched_, out);
  return out.take();
}

Result<std::vector<NodeRows>> Team::read(size_t piece, std::string_view work) {
  Decoder in(work);
  for (auto lines = in.get<uint64_t>(); lines > 0; --lines) {
    const auto level = in.get<log::Level>();
    log::write(level, in.text());
  }
  std::vector<NodeRows> rows;
  for (size_t node = pieces_[piece].first; node < pieces_[piece].last; ++node)
    rows.push_back(decoder_->node(work_.blank(node), in));
  work_.progress(pieces_[piece].bytes);
  return rows;
}

Result<void> Team::measure_here(size_t piece) {
  const bool is_shared = pieces_[piece].is_large && link_ != nullptr;
  std::vector<NodeRows> rows = work_.measure(pieces_[piece], is_shared ? this : nullptr);
  ASSAY_TRY_DO(check_cancelled());
  if (is_shared) {
    work_.progress(pieces_[piece].bytes);
    for (int other = 1; other < link_->size(); ++other) say(other, Say::merged);  // there is no more of it
    ASSAY_TRY_DO(wait([this] { return all_rest(); }));
  }
  if (journal_) ASSAY_TRY_DO(journal_->keep(name_of(piece), encode(rows)));
  const std::lock_guard lock(guard_);
  finished_.erase(piece);  // of a large piece everybody has the same
  finished_here_[piece] = std::move(rows);
  return {};
}

// Ctrl-C is asked for now and then: nobody tells us of it.
Result<void> Team::wait(const std::function<bool()>& is_over) {
  std::unique_lock lock(guard_);
  while (!error_ && !is_over()) {
    changed_.wait_for(lock, 100ms);
    ASSAY_TRY_DO(check_cancelled());
  }
  return error_ ? Result<void>(tl::unexpected<Error>(*error_)) : Result<void>();
}

Result<std::optional<std::vector<NodeRows>>> Team::next() {
  for (;;) {
    std::optional<std::string> arrived;
    std::optional<size_t> own;
    {
      std::unique_lock lock(guard_);
      if (error_) return tl::unexpected<Error>(*error_);
      if (next_wanted_ >= pieces_.size()) break;
      if (const auto found = finished_here_.find(next_wanted_); found != finished_here_.end()) {
        std::vector<NodeRows> rows = std::move(found->second);
        finished_here_.erase(found);
        ++next_wanted_;
        deal();
        return std::optional(std::move(rows));
      }
      if (const auto found = finished_.find(next_wanted_); found != finished_.end()) {
        arrived = std::move(found->second);
        finished_.erase(found);
      } else if (!kept_.contains(next_wanted_)) {
        own = own_piece();
        if (!own) {
          changed_.wait_for(lock, 100ms);
          ASSAY_TRY_DO(check_cancelled());
          continue;
        }
      }
    }
    if (own) {
      ASSAY_TRY_DO(measure_here(*own));
      continue;
    }
    const size_t piece = next_wanted_;
    if (arrived && journal_) ASSAY_TRY_DO(journal_->keep(name_of(piece), *arrived));
    if (!arrived) {
      ASSAY_TRY(arrived, journal_->find(name_of(piece)));
    }
    ASSAY_TRY(auto rows, read(piece, *arrived));
    const std::lock_guard lock(guard_);
    ++next_wanted_;
    deal();
    return std::optional(std::move(rows));
  }
  return std::nullopt;
}

Result<void> Team::measure_section(const Matched& matched, std::vector<WorkPiece> pieces, PieceWork work) {
  Sight sight(matched);
  {
    const std::lock_guard lock(guard_);
    digest_ = sight.digest();
    sight_ = std::move(sight);
    pieces_ = std::move(pieces);
    work_ = std::move(work);
    matched_ = &matched;
    next_dealt_ = next_wanted_ = elsewhere_ = 0;
    finished_.clear();
    finished_here_.clear();
    kept_.clear();
    std::ranges::fill(credits_, 0);
    decoder_.emplace(matched, texts_.emplace());
    if (journal_)
      for (size_t piece = 0; piece < pieces_.size(); ++piece)
        if (journal_->has(name_of(piece))) kept_.insert(piece);
  }
  if (!leads()) return serve();
  {
    const std::lock_guard lock(guard_);
    for (const Message& each : ready_[section_]) take_ready(each.from, each.bytes);
    ready_.erase(section_);
  }
  // Nothing is measured before it is known that all see the same.
  return wait([this] { return all_rest(); });
}

void Team::leave_section() {
  skip_section();
  log::debug("{} of {} pieces were measured by other processes, {} by earlier runs", elsewhere_,
             pieces_.size(), kept_.size());
  const std::lock_guard lock(guard_);
  matched_ = nullptr;
  pieces_.clear();
  finished_.clear();
  finished_here_.clear();
  decoder_.reset();
}

void Team::finish() {
  if (journal_) journal_->remove();
}

Result<Team::Message> Team::wait_for(Say what, int from) {
  const auto is_wanted = [&](const Message& each) {
    return each.from == from && static_cast<Say>(each.bytes.front()) == what;
  };
  // Who has given back its piece will send no more of it: files were not the same to it as to the others.
  const auto has_gone = [&] { return leads() && credits_[static_cast<size_t>(from)] == kAtHand; };
  ASSAY_TRY_DO(wait([&] { return std::ranges::any_of(inbox_, is_wanted) || has_gone(); }));
  const std::lock_guard lock(guard_);
  const auto found = std::ranges::find_if(inbox_, is_wanted);
  if (found == inbox_.end()) {
    error_ = Error{ErrorKind::io, fmt::format("{}: process {} could not read what the others can",
                                              link_->host_of(from), from)};
    return tl::unexpected<Error>(*error_);
  }
  Message message = std::move(*found);
  inbox_.erase(found);
  message.bytes.erase(0, sizeof(Say) + sizeof(int64_t));
  return message;
}

Result<void> Team::serve() {
  {
    const std::lock_guard lock(overheard.guard);
    overheard.lines.clear();  // process 0 has found the same, and said it
  }
  say(0, Say::ready, digest_);
  for (;;) {
    ASSAY_TRY_DO(wait([this] { return !inbox_.empty(); }));
    std::string bytes;
    {
      const std::lock_guard lock(guard_);
      bytes = std::move(inbox_.front().bytes);
      inbox_.pop_front();
    }
    Decoder in(bytes);
    const auto what = in.get<Say>();
    if (in.get<int64_t>() != section_) continue;
    if (what == Say::close) return {};
    if (what == Say::show) say(0, Say::files, sight_->encode());
    if (what != Say::piece) continue;
    const WorkPiece& piece = pieces_[in.get<uint64_t>()];
    const std::vector<NodeRows> rows = work_.measure(piece, piece.is_large ? this : nullptr);
    Encoder out;
    out.put(static_cast<uint64_t>(&piece - pieces_.data()));
    say(0, Say::result, out.take() + encode(rows));
  }
}

bool Team::takes(const GatherPlan& plan) const { return can_encode(plan); }

Result<Gathered> Team::gather(int64_t bands, const GatherOne& one) {
  const auto processes = static_cast<int64_t>(link_->size());
  const auto width = static_cast<int64_t>(kBandsAtATime);
  std::optional<Gathered> all;
  std::optional<Error> error;
  const auto merge = [&](Result<Gathered> band) {
    if (error) return;
    if (!band)
      error = std::move(band.error());
    else if (!all)
      all = std::move(*band);
    else
      all->merge(*band);
  };
  for (int64_t start = 0; start < bands; start += processes * width) {
    const int64_t first = start + link_->rank() * width;
    std::vector<Result<Gathered>> own(static_cast<size_t>(std::clamp<int64_t>(bands - first, 0, width)));
    parallel_for(
        own.size(), [&](size_t i) { own[i] = one(first + static_cast<int64_t>(i)); }, WhileWaiting::stands);
    if (!leads()) {
      say(0, Say::bands, encode_bands(own));
      continue;
    }
    for (Result<Gathered>& band : own) merge(std::move(band));
    for (int other = 1; other < link_->size(); ++other) {
      ASSAY_TRY(const Message message, wait_for(Say::bands, other));
      for (Result<Gathered>& band : decode_bands(message.bytes)) merge(std::move(band));
    }
  }
  if (leads()) {
    std::vector<Result<Gathered>> merged(1);
    if (error)
      merged[0] = tl::unexpected<Error>(*error);
    else
      merged[0] = std::move(*all);
    const std::string message = encode_bands(merged);
    for (int other = 1; other < link_->size(); ++other) say(other, Say::merged, message);
    return std::move(merged[0]);
  }
  ASSAY_TRY(const Message message, wait_for(Say::merged, 0));
  if (message.bytes.empty()) return fail(ErrorKind::io, "the others could not read it");
  return std::move(decode_bands(message.bytes)[0]);
}

bool Team::is_any(bool own) {
  if (!leads()) {
    say(0, Say::any, own ? "1" : "0");
    const auto answer = wait_for(Say::merged, 0);
    return answer && answer->bytes == "1";
  }
  for (int other = 1; other < link_->size(); ++other)
    if (const auto message = wait_for(Say::any, other)) own |= message->bytes == "1";
  for (int other = 1; other < link_->size(); ++other) say(other, Say::merged, own ? "1" : "0");
  return own;
}

bool TeamRows::take(std::vector<NodeResult>& into) {
  if (taken_ == arrived_.size()) {
    auto next = outcome_ ? team_.next() : std::optional<std::vector<NodeRows>>();
    if (!next) outcome_ = tl::unexpected<Error>(next.error());
    if (!next || !*next) return false;
    arrived_ = std::move(**next);
    taken_ = 0;
  }
  for (NodeResult& result : arrived_[taken_]) into.push_back(std::move(result));
  ++taken_;
  return true;
}

}  // namespace assay
