#include "assay/run/launch/atb_place.h"

#include "assay/base/path_kind.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <array>
#include <cstdlib>

namespace assay {
namespace {

constexpr std::string_view kProbe = "libassay_probe.so";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Whoever may write to it decides what runs in the program of the user.
Result<fs::path> checked(const fs::path& probe) {
  struct stat status {};
  if (::stat(probe.c_str(), &status) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ErrorKind::bad_argument,
                "{}: group or others may write to it, so it is not loaded into a program; chmod go-w {}",
                display(probe), display(probe));
  return fs::canonical(probe);
}

// The names of the probe that a library exports, by the bytes of its table of names. One of the new ABI has
// "cxx11" in it.
Result<std::optional<StringAbi>> abi_of(const fs::path& library) {
  ASSAY_TRY(const auto file, File::open(library));
  constexpr int64_t kPiece = int64_t{4} << 20, kOverlap = 4096;
  constexpr std::string_view kName = "Probe", kNew = "cxx11";
  bool has_names = false;
  std::string piece;
  for (int64_t at = 0; at < file->size(); at += kPiece) {
    piece.resize(static_cast<size_t>(std::min(kPiece + kOverlap, file->size() - at)));
    ASSAY_TRY_DO(file->read(at, std::as_writable_bytes(std::span(piece))));
    for (size_t found = piece.find(kName); found != std::string::npos; found = piece.find(kName, found + 1)) {
      const size_t begin = piece.rfind('\0', found) + 1,
                   end = std::min(piece.find('\0', found), piece.size());
      const std::string_view name = std::string_view(piece).substr(begin, end - begin);
      if (!name.starts_with("_Z")) continue;
      has_names = true;
      if (name.find(kNew) != std::string_view::npos) return StringAbi::cxx11;
    }
  }
  return has_names ? std::optional(StringAbi::old) : std::nullopt;
}

}  // namespace

Result<fs::path> find_probe() {
  if (const std::string given = variable("ASSAY_PROBE"); !given.empty()) {
    if (is_file(given)) return checked(given);
    return fail(ErrorKind::not_found,
                "ASSAY_PROBE is {}, and there is no such file; unset it, or set it to {}", display(given),
                kProbe);
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array places = {program / kProbe, (program / "../lib/assay" / kProbe).lexically_normal()};
  for (const fs::path& place : places)
    if (is_file(place)) return checked(place);
  return fail(
      ErrorKind::not_found,
      "the probe was not found: there is neither {} nor {}; build or install it, or set ASSAY_PROBE to it",
      display(places[0]), display(places[1]));
}

Result<AtbPlace> find_atb() {
  const std::string home = variable("ATB_HOME_PATH");
  constexpr std::string_view kNextStep = "run `source set_env.sh` of ATB (nnal/atb) first";
  if (home.empty()) return fail(ErrorKind::not_found, "ATB_HOME_PATH is not set; {}", kNextStep);
  if (!is_folder(home))
    return fail(ErrorKind::not_found, "ATB_HOME_PATH is {}, and there is no such folder; {}", display(home),
                kNextStep);
  AtbPlace place;
  place.library = fs::path(home) / "lib" / "libatb.so";
  if (!is_file(place.library))
    return fail(ErrorKind::not_found, "{} not exists, please make sure atb is compiled correctly; {}",
                display(place.library), kNextStep);
  ASSAY_TRY(place.abi, abi_of(place.library));
  return place;
}

Result<fs::path> find_toolkit() {
  std::string home = variable("ASCEND_TOOLKIT_HOME");
  if (home.empty()) home = "/usr/local/Ascend/ascend-toolkit/latest";
  if (is_folder(home)) return fs::path(home);
  return fail(ErrorKind::not_found,
              "there is no {}; run `source set_env.sh` of the CANN toolkit, which sets ASCEND_TOOLKIT_HOME",
              display(home));
}

}  // namespace assay
