// Files: read at an offset, and outputs that appear whole or not at all.
#pragma once

#include "assay/base/bytes.h"
#include "assay/base/result.h"

#include <filesystem>
#include <memory>
#include <mutex>

namespace assay {

namespace fs = std::filesystem;

// A path as it may be shown: printable() of it.
std::string display(const fs::path& path);

class Mapping;  // assay/base/mapping.h

// A regular file opened for reading. Safe to read from many threads at once.
class File {
 public:
  static Result<std::shared_ptr<const File>> open(const fs::path& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const fs::path& path() const { return path_; }
  std::string name() const { return display(path_); }  // for messages
  int64_t size() const { return size_; }               // when it was opened

  // Fills `out` from `offset`. A file that ends earlier is an error that says so.
  Result<void> read(int64_t offset, std::span<std::byte> out) const;
  // Up to out.size() bytes; fewer only at the end of the file.
  Result<int64_t> read_some(int64_t offset, std::span<std::byte> out) const;
  // Tells the kernel that this range is wanted soon. Advice only.
  void will_need(int64_t offset, int64_t length) const;
  // The file in the address space, made when first asked for; null where that cannot be. See base/mapping.h.
  const Mapping* mapping() const;
  int64_t current_size() const;  // now; 0 if that cannot be told

 private:
  File(fs::path path, int descriptor, int64_t size);
  mutable std::once_flag mapped_;
  mutable std::unique_ptr<Mapping> mapping_;
  fs::path path_;
  int descriptor_;
  int64_t size_;
  const uint64_t number_;  // of no other file of this process
};

enum class IfExists { refuse, number, replace };  // number: result.csv becomes result_2.csv

// An output under construction. Nothing is visible under its name before publish(); destroyed unpublished, it
// leaves nothing. Nor does a process that is killed, but where a temporary name is needed: on a file system
// that knows no files without names, and in the instant that a file is replaced. Such a name is locked as
// long as its process lives; whoever next needs one in the same folder removes those of the dead.
class FileWriter {
 public:
  static Result<FileWriter> create(const fs::path& path, IfExists if_exists, unsigned mode = 0666);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Result<void> append(Bytes bytes);
  Result<void> append(std::string_view text) { return append(as_bytes(text)); }
  Result<void> write_at(int64_t offset, Bytes bytes);  // over what was written before, or on from its end
  Result<int64_t> read_some(int64_t offset, std::span<std::byte> out);  // fewer only at the end
  Result<void> resize(int64_t size);
  int64_t size() const { return size_ + static_cast<int64_t>(pending_.size()); }
  const fs::path& path() const { return path_; }
  std::string name() const { return display(path_); }
  int descriptor() const { return descriptor_; }  // open also after publish(): whose it is, which file it is
  // The mode and, where we may give it away, the owner of the file that will be replaced; nothing without
  // one.
  Result<void> take_rights_of(const fs::path& path);
  void rename(const fs::path& file_name) { path_.replace_filename(file_name); }  // before publish()

  // Everything is on the disk afterwards: whatever could still fail for want of room has failed.
  Result<void> sync();
  // Syncs and gives the file its name; answers the name it got.
  Result<fs::path> publish();

 private:
  FileWriter(fs::path path, IfExists if_exists, int descriptor, fs::path temporary);
  Result<void> flush();
  Result<fs::path> replace();
  fs::path path_;
  IfExists if_exists_;
  int descriptor_ = -1;
  fs::path temporary_;   // empty where the file system can hold a file without a name
  std::string pending_;  // small appends are collected
  int64_t size_ = 0;     // bytes handed to the kernel
};

// Makes the folder and those above it; an error that names what is in the way otherwise.
Result<void> make_folder(const fs::path& folder, unsigned mode = 0777);

// With --force a file is replaced, or a link to one; never a folder, a pipe, a device or a link to nothing.
Result<void> check_replaceable(const fs::path& out);

}  // namespace assay
