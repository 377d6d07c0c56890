#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/compat/msprobe/files.h"

#include <fmt/format.h>

#include <cctype>

namespace assay {
namespace {

// Names of dumps are plain scalars of YAML; anything else is quoted.
std::string yaml_text(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos &&
                     text.find('.') != std::string_view::npos &&
                     std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  if (plain) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

class MappingFile : public Sink {
 public:
  explicit MappingFile(const MsprobeFiles& files) : files_(files) {}

  Result<void> begin(const Head& head) override {
    ASSAY_TRY_DO(make_folder(files_.folder, 0750));
    const std::string name = fmt::format("data_mapping_{}.yaml", local_stamp(head.now));
    ASSAY_TRY(FileWriter file, FileWriter::create(files_.folder / name, IfExists::number, 0640));
    file_.emplace(std::move(file));
    return {};
  }

  std::string render(std::string_view, std::span<const NodeResult> nodes) const override {
    std::string out;
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (row.mine.item != nullptr)
          out += fmt::format("{}: {}\n", yaml_text(printable(row.mine.name)),
                             row.golden.item == nullptr ? "N/A" : yaml_text(printable(row.golden.name)));
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    return file_->append(rendered);
  }
  Result<void> end(const Summary&) override { return {}; }

  Result<std::vector<fs::path>> publish() override {
    ASSAY_TRY(fs::path path, file_->publish());
    return std::vector{std::move(path)};
  }

 private:
  const MsprobeFiles files_;
  std::optional<FileWriter> file_;
};

}  // namespace

std::unique_ptr<Sink> msprobe_mapping(const MsprobeFiles& files) {
  return std::make_unique<MappingFile>(files);
}

}  // namespace assay
