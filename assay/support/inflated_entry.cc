#include "assay/support/inflated_entry.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace assay {
namespace {

// Inflated at once. Also the grid on which a broken entry becomes unreadable, whoever asks first.
constexpr int64_t kChunk = int64_t{1} << 18;
// Entries that are wanted by turns and cannot be kept together are inflated again, but not for ever.
constexpr int kMostInflations = 16;

}  // namespace

// ----- the room

int64_t InflatedRoom::in_memory() const {
  const std::lock_guard lock(guard_);
  return in_memory_;
}

int64_t InflatedRoom::on_disk() const {
  const std::lock_guard lock(guard_);
  return on_disk_;
}

InflatedRoom::Place InflatedRoom::take(InflatedEntry& entry, int64_t bytes, bool again) {
  const std::lock_guard lock(guard_);
  Place place = Place::disk;
  if (bytes <= limits_.memory) {
    if (!again) drop_idle(Place::memory, bytes);
    if (in_memory_ + bytes <= limits_.memory) place = Place::memory;
  }
  if (place == Place::disk) drop_idle(Place::disk, bytes);
  taken(place) += bytes;
  kept_.push_back({&entry, place, bytes});
  return place;
}

void InflatedRoom::move_to_disk(InflatedEntry& entry) {
  const std::lock_guard lock(guard_);
  const auto found = std::ranges::find(kept_, &entry, &Kept::entry);
  ASSAY_CHECK(found != kept_.end() && found->place == Place::memory);
  in_memory_ -= found->bytes;
  on_disk_ += found->bytes;
  found->place = Place::disk;
}

void InflatedRoom::give_back(InflatedEntry& entry) {
  const std::lock_guard lock(guard_);
  const auto found = std::ranges::find(kept_, &entry, &Kept::entry);
  if (found == kept_.end()) return;
  taken(found->place) -= found->bytes;
  kept_.erase(found);
}

void InflatedRoom::drop_idle(Place place, int64_t wanted) {
  const int64_t limit = place == Place::memory ? limits_.memory : limits_.disk;
  for (auto kept = kept_.begin(); kept != kept_.end() && taken(place) + wanted > limit;) {
    if (kept->place != place || !kept->entry->drop_if_idle()) {
      ++kept;
      continue;
    }
    taken(place) -= kept->bytes;
    kept = kept_.erase(kept);
  }
}

// ----- the entry

InflatedEntry::InflatedEntry(std::shared_ptr<const File> file, ZipEntry entry,
                             std::shared_ptr<InflatedRoom> room)
    : file_(std::move(file)), entry_(std::move(entry)), room_(std::move(room)) {}

InflatedEntry::~InflatedEntry() { room_->give_back(*this); }

void InflatedEntry::add_tensor(int64_t end) {
  ASSAY_CHECK(inflations_ == 0);  // what is kept is as long as the tensors that were known by then
  extent_ = std::max(extent_, end);
  ++tensors_;
}

std::unique_ptr<InflateStream> InflatedEntry::stream() const {
  return std::make_unique<InflateStream>(*file_, entry_, &room_->inflated_);
}

InflatedEntry::Reader::Reader(InflatedEntry& entry) : entry_(entry) {
  const std::lock_guard lock(entry_.guard_);
  ++entry_.readers_;
}

InflatedEntry::Reader::~Reader() {
  const std::lock_guard lock(entry_.guard_);
  --entry_.readers_;
}

Result<void> InflatedEntry::Reader::read(int64_t offset, std::span<std::byte> out) {
  const int64_t end = offset + std::ssize(out);
  ASSAY_CHECK(offset >= 0 && end <= entry_.extent_);
  if (out.empty()) return {};
  if (entry_.ready_.load(std::memory_order_acquire) < end) ASSAY_TRY_DO(entry_.inflate_to(end));
  if (!entry_.disk_) {
    std::memcpy(out.data(), entry_.memory_.get() + offset, out.size());
    return {};
  }
  auto done = entry_.disk_->read(offset, out);
  if (done) return done;
  // A full disk is given up while others read from it: they hear why.
  const std::lock_guard lock(entry_.guard_);
  return entry_.trouble_ ? tl::unexpected<Error>(*entry_.trouble_) : done;
}

Result<void> InflatedEntry::inflate_to(int64_t end) {
  const std::lock_guard lock(guard_);
  while (ready_ < end) {
    ASSAY_TRY_DO(check_cancelled());
    if (trouble_) return tl::unexpected<Error>(*trouble_);
    auto done = stream_ == nullptr ? start() : inflate_chunk();
    if (!done) {
      give_up(done.error());
      return done;
    }
  }
  return {};
}

Result<void> InflatedEntry::start() {
  const auto where = [&] { return fmt::format("{}: entry \"{}\"", file_->name(), printable(entry_.name)); };
  if (extent_ > room_->limits_.disk)
    return fail(ErrorKind::limit,
                "{} inflates from {} to {} and must be kept to be read out of order; more than {} is not, "
                "unless you pass --trusted",
                where(), format_size(entry_.compressed_size), format_size(extent_),
                format_size(room_->limits_.disk));
  if (inflations_ == kMostInflations)
    return fail(ErrorKind::limit,
                "{} was inflated {} times, because what else is read between does not fit beside it; raise "
                "--memory",
                where(), inflations_);
  if (room_->take(*this, extent_, inflations_ > 0) == InflatedRoom::Place::memory) {
    memory_.reset(new (std::nothrow) std::byte[static_cast<size_t>(extent_)]);
    if (memory_ == nullptr) room_->move_to_disk(*this);
  }
  if (memory_ == nullptr) {
    auto file = UnnamedFile::create(extent_);
    if (!file)
      return fail(file.error().kind, "{} must be kept to be read out of order, but {}", where(),
                  file.error().message);
    disk_.emplace(std::move(*file));
    chunk_.resize(static_cast<size_t>(kChunk));
  }
  ++inflations_;
  stream_ = stream();
  return {};
}

Result<void> InflatedEntry::inflate_chunk() {
  const int64_t part = std::min(kChunk, extent_ - ready_);
  const std::span<std::byte> place(disk_ ? chunk_.data() : memory_.get() + ready_, static_cast<size_t>(part));
  ASSAY_TRY_DO(stream_->read(place));
  if (disk_) {
    if (auto written = disk_->write_at(ready_, place); !written)
      return fail(written.error().kind, "{}: entry \"{}\" must be kept to be read out of order, but {}",
                  file_->name(), printable(entry_.name), written.error().message);
  }
  ready_.store(ready_ + part, std::memory_order_release);
  if (ready_ == extent_) {
    stream_.reset();
    chunk_ = {};
  }
  return {};
}

// A broken stream leaves what came before it. A full disk is emptied at once; memory stays until nobody reads
// it any longer.
void InflatedEntry::give_up(Error trouble) {
  stream_.reset();
  if (trouble.kind != ErrorKind::bad_format) {
    ready_ = 0;
    if (memory_ == nullptr) {
      if (disk_) disk_->empty();
      room_->give_back(*this);
    }
  }
  trouble_ = std::move(trouble);
}

bool InflatedEntry::drop_if_idle() {
  const std::unique_lock lock(guard_, std::try_to_lock);
  if (!lock || readers_ > 0) return false;
  ready_ = 0;
  trouble_.reset();
  stream_.reset();
  memory_.reset();
  disk_.reset();
  chunk_ = {};
  return true;
}

}  // namespace assay
