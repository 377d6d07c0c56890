// Files that appear whole or not at all, for a program that must go on whatever happens to the disk: nothing
// waits for the disk (no fsync), folders are made when they are missing, and every failure is an answer.
#pragma once

#include "assay/base/bytes.h"
#include "assay/base/result.h"

#include <atomic>
#include <optional>
#include <string>

namespace assay::capture {

struct Rights {
  unsigned file = 0666, folder = 0777;  // less what the umask takes away
};

enum class Existing : uint8_t { number, replace, refuse };  // number: x.bin becomes x.2.bin, then x.3.bin

// The name that it got. A process that is killed meanwhile leaves nothing; where the file system has no files
// without names, one that readers of Assay know as unfinished (base/temporary_name.h).
// `pieces` grows with every few MiB, so that others see a slow disk from a dead one.
Result<std::string> write_whole(const std::string& path, std::span<const Bytes> parts, Existing existing,
                                const Rights& rights, std::atomic<int64_t>* pieces = nullptr);

// One write; `header` before it if the file is new or empty. What does not fit on the disk leaves no part of
// itself, and no file where there was none.
Result<void> append_whole(const std::string& path, std::string_view header, std::string_view lines,
                          const Rights& rights);

enum class LinkKind : uint8_t { none, hard, symbolic };  // symbolic: relative, so that a dump may be moved
Result<std::string> link_to(const std::string& path, const std::string& file, LinkKind kind,
                            Existing existing, const Rights& rights);

// Holds the file these bytes and no others?
bool holds(const std::string& path, std::span<const Bytes> parts);

// "a/x.bin", 2 -> "a/x.2.bin".
std::string numbered(const std::string& path, int number);

// Bytes that are free on the disk of a path, which need not be there yet; nothing: that cannot be told.
std::optional<int64_t> room_on_disk(std::string path);

// The folders above a file, as far as they are missing.
Result<void> make_folders_above(const std::string& path, const Rights& rights);

}  // namespace assay::capture
