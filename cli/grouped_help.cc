#include "cli/grouped_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace assay::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr std::string_view kEveryday = "Options";  // where CLI11 puts what was put nowhere

class GroupedHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, name) + make_positionals(app) +
           options_of(app, mode == CLI::AppFormatMode::All) + '\n' + make_footer(app);
  }

 private:
  std::string options_of(const CLI::App* app, bool all) const {
    std::string everyday, rest;
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (group.empty() || options.empty()) continue;
      if (group == kEveryday)
        everyday += make_group(group, false, options);
      else
        rest += all ? make_group(group, false, options) : names(group, options);
    }
    if (rest.empty() || all) return everyday + rest;
    return everyday + "\nMore, explained by --help-all:\n" + rest;
  }

  std::string names(const std::string& group, const std::vector<const CLI::Option*>& options) const {
    std::string out, line = "  " + group;
    line.resize(std::max(line.size() + 1, column_width_), ' ');
    const size_t margin = line.size();
    for (const CLI::Option* option : options) {
      const std::string name = option->get_name();
      if (line.size() > margin && line.size() + 1 + name.size() > kColumns) {
        out += line + '\n';
        line.assign(margin, ' ');
      }
      line += (line.size() > margin ? " " : "") + name;
    }
    return out + line + '\n';
  }
};

}  // namespace

void use_grouped_help(CLI::App& command) {
  const auto formatter = std::make_shared<GroupedHelp>();
  formatter->column_width(command.get_formatter()->get_column_width());
  command.formatter(formatter);
  command.set_help_all_flag("--help-all", "Explain every flag and exit")
      ->group("");  // --help names it itself
}

void add_choice_flags(CLI::App& command, std::string_view what, std::string_view by,
                      std::vector<std::string>& only, std::vector<std::string>& skip) {
  command.add_option("--only", only, fmt::format("Only {} whose {} fits (default: all)", what, by))
      ->type_name("GLOB,...")
      ->allow_extra_args(false);
  command.add_option("--skip", skip, fmt::format("Not those whose {} fits (default: none)", by))
      ->type_name("GLOB,...")
      ->allow_extra_args(false);
}

}  // namespace assay::cli
