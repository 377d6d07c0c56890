#include "assay/report/report.h"

#include <cstring>

namespace assay {
namespace {

class PerSection : public Sink {
 public:
  explicit PerSection(std::function<std::unique_ptr<Sink>()> make) : make_(std::move(make)) {}

  Result<void> begin(const Head&) override { return {}; }

  Result<void> open_section(const Head& head) override {
    sink_ = make_();
    ASSAY_TRY_DO(sink_->begin(head));
    return sink_->open_section(head);
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    return sink_->render(section, nodes);
  }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    return sink_->write(section, nodes, std::move(rendered));
  }

  // The section's file is published here: what other ranks may still run into is no reason to lose it.
  Result<void> close_section(const Summary& of_section) override {
    ASSAY_TRY_DO(sink_->close_section(of_section));
    ASSAY_TRY_DO(sink_->end(of_section));
    ASSAY_TRY(const std::vector<fs::path> files, sink_->publish());
    ASSAY_TRY_DO(sink_->announce(of_section, files));
    files_.insert(files_.end(), files.begin(), files.end());
    sink_.reset();
    return {};
  }

  Result<void> end(const Summary&) override { return {}; }
  Result<std::vector<fs::path>> publish() override { return files_; }

 private:
  const std::function<std::unique_ptr<Sink>()> make_;
  std::unique_ptr<Sink> sink_;  // of the open section
  std::vector<fs::path> files_;
};

class Together : public Sink {
 public:
  explicit Together(std::vector<std::unique_ptr<Sink>> sinks) {
    for (auto& sink : sinks) set_.add(std::move(sink));
  }

  Result<void> begin(const Head& head) override { return set_.begin(head); }
  Result<void> open_section(const Head& head) override { return set_.open_section(head); }
  Result<void> close_section(const Summary& of_section) override { return set_.close_section(of_section); }
  Result<void> skip_section(const Head& head, const Error& why) override {
    return set_.skip_section(head, why);
  }

  // The texts of all, each behind its length.
  std::string render(std::string_view, std::span<const NodeResult> nodes) const override {
    std::string out;
    for (const std::string& text : set_.render(nodes)) {
      const size_t size = text.size();
      out.append(reinterpret_cast<const char*>(&size), sizeof size);
      out += text;
    }
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult> nodes, std::string&& rendered) override {
    std::vector<std::string> texts;
    for (std::string_view rest = rendered; !rest.empty();) {
      size_t size = 0;
      std::memcpy(&size, rest.data(), sizeof size);
      texts.emplace_back(rest.substr(sizeof size, size));
      rest.remove_prefix(sizeof size + size);
    }
    return set_.write(nodes, std::move(texts));
  }

  Result<void> end(const Summary& summary) override {
    ASSAY_TRY(files_, set_.end(summary));
    return {};
  }
  Result<std::vector<fs::path>> publish() override { return files_; }

 private:
  ReportSet set_;
  std::vector<fs::path> files_;
};

}  // namespace

std::unique_ptr<Sink> together(std::vector<std::unique_ptr<Sink>> sinks) {
  return std::make_unique<Together>(std::move(sinks));
}

std::unique_ptr<Sink> per_section(std::function<std::unique_ptr<Sink>()> make) {
  return std::make_unique<PerSection>(std::move(make));
}

}  // namespace assay
