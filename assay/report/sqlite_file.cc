#include "assay/report/sqlite_file.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>

namespace assay {
namespace {

// What SQLite keeps of an open file. It gives the memory, and wants `base` first.
struct Handle {
  sqlite3_file base;
  SqliteFile* owner;
  FileWriter* file;
  std::unique_ptr<FileWriter> own;  // a file to sort in, which goes with the handle
};

Handle& handle_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }

int close_file(sqlite3_file* file) {
  std::destroy_at(&handle_of(file));
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  const Handle& handle = handle_of(file);
  const std::span<std::byte> wanted(static_cast<std::byte*>(out), static_cast<size_t>(size));
  const auto got = handle.file->read_some(offset, wanted);
  if (!got) return handle.owner->note(got.error(), SQLITE_IOERR_READ);
  if (*got == size) return SQLITE_OK;
  std::memset(wanted.data() + *got, 0, static_cast<size_t>(size - *got));  // as SQLite expects
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const Handle& handle = handle_of(file);
  const auto written =
      handle.file->write_at(offset, Bytes(static_cast<const std::byte*>(data), static_cast<size_t>(size)));
  return written ? SQLITE_OK : handle.owner->note(written.error(), SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const Handle& handle = handle_of(file);
  const auto cut = handle.file->resize(size);
  return cut ? SQLITE_OK : handle.owner->note(cut.error(), SQLITE_IOERR_TRUNCATE);
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  *size = handle_of(file).file->size();
  return SQLITE_OK;
}

// Nobody else can open the file: there is nothing to lock. It is synced once, when it gets its name.
int no_lock(sqlite3_file*, int) { return SQLITE_OK; }
int is_reserved(sqlite3_file*, int* answer) {
  *answer = 0;
  return SQLITE_OK;
}
int no_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int characteristics(sqlite3_file*) { return 0; }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = no_lock,
    .xFileSize = size_of_file,
    .xLock = no_lock,
    .xUnlock = no_lock,
    .xCheckReservedLock = is_reserved,
    .xFileControl = no_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, const char*, sqlite3_file* out, int flags, int* out_flags) {
  Handle& handle = *new (out) Handle{};
  SqliteFile& owner = *static_cast<SqliteFile*>(vfs->pAppData);
  handle.owner = &owner;
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
    handle.file = &owner.file();
  } else {
    auto made = FileWriter::create(owner.file().path(), IfExists::number, 0600);
    if (!made) return owner.note(made.error(), SQLITE_CANTOPEN);
    handle.own = std::make_unique<FileWriter>(std::move(*made));
    handle.file = handle.own.get();
  }
  handle.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int remove_file(sqlite3_vfs*, const char*, int) { return SQLITE_OK; }
int no_access(sqlite3_vfs*, const char*, int, int* answer) {
  *answer = 0;
  return SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

sqlite3_vfs& system_vfs() { return *sqlite3_vfs_find(nullptr); }
int randomness(sqlite3_vfs*, int size, char* out) {
  return system_vfs().xRandomness(&system_vfs(), size, out);
}
int sleep_for(sqlite3_vfs*, int microseconds) { return system_vfs().xSleep(&system_vfs(), microseconds); }
int current_time(sqlite3_vfs*, double* out) { return system_vfs().xCurrentTime(&system_vfs(), out); }
int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

SqliteFile::SqliteFile(FileWriter file) : file_(std::move(file)) {
  vfs_name_ = fmt::format("assay-{}", fmt::ptr(this));
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(Handle);
  vfs_.mxPathname = 512;
  vfs_.zName = vfs_name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  vfs_.xDelete = remove_file;
  vfs_.xAccess = no_access;
  vfs_.xFullPathname = full_name;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = sleep_for;
  vfs_.xCurrentTime = current_time;
  vfs_.xGetLastError = last_error;
  sqlite3_initialize();
  sqlite3_vfs_register(&vfs_, 0);
}

SqliteFile::~SqliteFile() { sqlite3_vfs_unregister(&vfs_); }

int SqliteFile::note(const Error& error, int code) {
  if (!trouble_) trouble_ = error;
  return code;
}

}  // namespace assay
