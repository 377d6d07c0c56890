#include "assay/base/user_attributes.h"

#include "assay/base/system_message.h"
#include "assay/base/text.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

namespace assay {
namespace {

struct Attribute {
  std::string name, value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// What `ask` gives, however long that is by the time it is asked: without a buffer it says how long.
template <class Ask>
Result<std::string> whole_answer(const Ask& ask) {
  for (;;) {
    const ssize_t size = ask(nullptr, 0);
    if (size < 0) return fail(ErrorKind::io, "{}", system_message(errno));
    std::string text(static_cast<size_t>(size), '\0');
    if (size == 0) return text;
    const ssize_t got = ask(text.data(), text.size());
    if (got < 0 && errno == ERANGE) continue;  // it grew meanwhile
    if (got < 0) return fail(ErrorKind::io, "{}", system_message(errno));
    text.resize(static_cast<size_t>(got));
    return text;
  }
}

Result<std::vector<Attribute>> attributes_of(const fs::path& path) {
  std::vector<Attribute> found;
  const auto list = [&](char* to, size_t size) { return ::listxattr(path.c_str(), to, size); };
  if (list(nullptr, 0) < 0 && errno == ENOTSUP) return found;
  const auto names = whole_answer(list);
  if (!names)
    return fail(ErrorKind::io, "its extended attributes cannot be listed: {}", names.error().message);
  for (const std::string_view name : split(*names, '\0')) {
    if (!name.starts_with("user.")) continue;
    Attribute attribute{std::string(name), {}};
    auto value = whole_answer(
        [&](char* to, size_t size) { return ::getxattr(path.c_str(), attribute.name.c_str(), to, size); });
    if (!value)
      return fail(ErrorKind::io, "its extended attribute {} cannot be read: {}", printable(name),
                  value.error().message);
    attribute.value = std::move(*value);
    found.push_back(std::move(attribute));
  }
  return found;
}

// A file that its owner may not write takes no attributes, not even through an open descriptor.
class Writable {
 public:
  explicit Writable(int file) : file_(file) {
    struct stat status {};
    if (::fstat(file, &status) != 0 || (status.st_mode & S_IWUSR) != 0) return;
    mode_ = status.st_mode & 07777;
    changed_ = ::fchmod(file, mode_ | S_IWUSR) == 0;
  }
  ~Writable() {
    if (changed_) ::fchmod(file_, mode_);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;

 private:
  const int file_;
  mode_t mode_ = 0;
  bool changed_ = false;
};

}  // namespace

Result<void> copy_user_attributes(const fs::path& from, int to) {
  ASSAY_TRY(const std::vector<Attribute> attributes, attributes_of(from));
  if (attributes.empty()) return {};
  const Writable writable(to);
  for (const Attribute& attribute : attributes)
    if (::fsetxattr(to, attribute.name.c_str(), attribute.value.data(), attribute.value.size(), 0) != 0)
      return fail(ErrorKind::io, "its extended attribute {} cannot be given to what takes its place: {}",
                  printable(attribute.name), system_message(errno));
  return {};
}

bool has_user_attributes_of(const fs::path& from, const fs::path& other) {
  const auto wanted = attributes_of(from);
  if (!wanted) return false;
  if (wanted->empty()) return true;
  const auto found = attributes_of(other);
  return found && std::all_of(wanted->begin(), wanted->end(), [&](const Attribute& attribute) {
           return std::find(found->begin(), found->end(), attribute) != found->end();
         });
}

}  // namespace assay
