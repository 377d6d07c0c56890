#include "cli/argparse.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;
constexpr size_t kWidth = 78;  // of a terminal of 80 columns, as argparse has it

const ForeignFlag kHelp = {{"-h", "--help"}, Takes::nothing, "show this help message and exit"};

std::string metavar(const ForeignFlag& flag) {
  if (!flag.choices.empty()) {
    std::string out = "{";
    for (const std::string_view choice : flag.choices)
      out += (out.size() > 1 ? "," : "") + std::string(choice);
    return out + "}";
  }
  if (!flag.metavar.empty()) return std::string(flag.metavar);
  std::string out(flag.key());
  out.erase(0, out.find_first_not_of('-'));
  std::replace(out.begin(), out.end(), '-', '_');
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

std::string with_value(std::string_view name, const ForeignFlag& flag) {
  switch (flag.takes) {
    case Takes::nothing:
      return std::string(name);
    case Takes::one:
      return fmt::format("{} {}", name, metavar(flag));
    case Takes::perhaps_one:
      return fmt::format("{} [{}]", name, metavar(flag));
    case Takes::several:
      return fmt::format("{0} {1} [{1} ...]", name, metavar(flag));
  }
  return std::string(name);
}

std::string usage(const ForeignCommand& command) {
  const std::string start = fmt::format("usage: {} ", command.program);
  std::vector<std::string> parts = {"[-h]"};
  for (const ForeignFlag& flag : command.flags) {
    if (flag.hidden) continue;
    const std::string part = with_value(flag.names.front(), flag);
    parts.push_back(flag.required ? part : "[" + part + "]");
  }
  std::string out, line = start;
  for (const std::string& part : parts) {
    if (line.size() + part.size() > kWidth && line.size() > start.size()) {
      line.pop_back();
      out += line + '\n';
      line.assign(start.size(), ' ');
    }
    line += part + ' ';
  }
  line.pop_back();
  return out + line + '\n';
}

void append_wrapped(std::string& out, std::string_view text, size_t indent) {
  std::string line;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      out += line + '\n' + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  out += line + '\n';
}

std::string help(const ForeignCommand& command) {
  constexpr size_t kHelpColumn = 24;
  std::string out = usage(command) + "\noptions:\n";
  const auto add = [&](std::string names, std::string_view text) {
    names.insert(0, "  ");
    out += names;
    if (names.size() + 2 <= kHelpColumn)
      out.append(kHelpColumn - names.size(), ' ');
    else
      out += '\n' + std::string(kHelpColumn, ' ');
    append_wrapped(out, text, kHelpColumn);
  };
  add("-h, --help", kHelp.help);
  for (const ForeignFlag& flag : command.flags) {
    std::string names;
    for (const std::string_view name : flag.names)
      names += (names.empty() ? "" : ", ") + with_value(name, flag);
    add(std::move(names), flag.help);
  }
  return out;
}

std::string all_names(const ForeignFlag& flag) {
  std::string out;
  for (const std::string_view name : flag.names) out += (out.empty() ? "" : "/") + std::string(name);
  return out;
}

// As argparse decides it: digits, at most one point.
bool is_negative_number(std::string_view text) {
  if (text.size() < 2 || text[0] != '-') return false;
  const std::string_view digits = text.substr(1);
  const size_t point = digits.find('.');
  return digits.find_first_not_of("0123456789.") == std::string_view::npos && digits.back() != '.' &&
         (point == std::string_view::npos || digits.find('.', point + 1) == std::string_view::npos);
}

}  // namespace

std::string_view ForeignFlag::key() const {
  for (const std::string_view name : names)
    if (name.starts_with("--")) return name;
  return names.back();
}

std::optional<std::string> Parsed::value(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->second.empty() ? std::nullopt : std::optional(found->second.back());
}

std::vector<std::string> Parsed::values(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

struct ForeignParser {
  const ForeignCommand& command;
  std::span<const std::string> arguments;
  Parsed parsed;
  std::vector<std::string> unknown;
  size_t next = 0;

  tl::unexpected<ParseStop> error(std::string_view text) const {
    return tl::unexpected(
        ParseStop{fmt::format("{}{}: error: {}\n", usage(command), command.program, text), 2});
  }

  struct Found {
    const ForeignFlag* flag = nullptr;
    std::string name;                  // as the table has it
    std::optional<std::string> value;  // behind = or glued on
  };

  std::vector<const ForeignFlag*> flags() const {
    std::vector<const ForeignFlag*> out = {&kHelp};
    for (const ForeignFlag& flag : command.flags) out.push_back(&flag);
    return out;
  }

  const ForeignFlag* exact(std::string_view name) const {
    for (const ForeignFlag* flag : flags())
      if (std::find(flag->names.begin(), flag->names.end(), name) != flag->names.end()) return flag;
    return nullptr;
  }

  // All the ways to read an argument that is no flag by itself.
  std::vector<Found> candidates(const std::string& argument) const {
    std::vector<Found> out;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::optional<std::string> value =
        equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    const bool is_long = argument.starts_with("--");
    for (const ForeignFlag* flag : flags())
      for (const std::string_view each : flag->names) {
        if (is_long ? each.starts_with(name) : each.starts_with(argument))
          out.push_back({flag, std::string(each), is_long ? value : std::nullopt});
        else if (!is_long && each.size() == 2 && argument.starts_with(each))
          out.push_back({flag, std::string(each), argument.substr(2)});
      }
    return out;
  }

  enum class Word : uint8_t { value, flag, unknown };
  struct Read {
    Word word = Word::value;
    Found found = {};
  };

  // What argparse takes a word for, whatever stands before it.
  tl::expected<Read, ParseStop> read(const std::string& argument) const {
    if (argument.size() < 2 || argument[0] != '-') return Read{};
    if (const ForeignFlag* flag = exact(argument)) return Read{Word::flag, {flag, argument, std::nullopt}};
    if (const size_t equals = argument.find('='); equals != std::string::npos)
      if (const ForeignFlag* flag = exact(argument.substr(0, equals)))
        return Read{Word::flag, {flag, argument.substr(0, equals), argument.substr(equals + 1)}};
    const std::vector<Found> found = candidates(argument);
    if (found.size() > 1) {
      std::string names;
      for (const Found& each : found) names += (names.empty() ? "" : ", ") + each.name;
      return error(fmt::format("ambiguous option: {} could match {}", argument, names));
    }
    if (found.size() == 1) return Read{Word::flag, found.front()};
    if (is_negative_number(argument) || argument.find(' ') != std::string::npos) return Read{};
    return Read{Word::unknown, {}};
  }

  bool next_is_value() const {
    if (next >= arguments.size()) return false;
    const auto word = read(arguments[next]);
    return word && word->word == Word::value;
  }

  tl::expected<void, ParseStop> take(Found found) {
    const ForeignFlag& flag = *found.flag;
    if (flag.takes == Takes::nothing) {
      if (found.flag == &kHelp && !found.value) return tl::unexpected(ParseStop{help(command), 0});
      parsed.values_[flag.key()] = {};
      if (!found.value) return {};
      // -sc is -s -c
      const ForeignFlag* const other = exact("-" + found.value->substr(0, 1));
      if (found.name.size() != 2 || found.value->empty() || other == nullptr)
        return error(
            fmt::format("argument {}: ignored explicit argument '{}'", all_names(flag), *found.value));
      const std::string rest = found.value->substr(1);
      return take(
          {other, "-" + found.value->substr(0, 1), rest.empty() ? std::nullopt : std::optional(rest)});
    }
    std::vector<std::string> values;
    if (found.value)
      values.push_back(*std::move(found.value));
    else
      while (next_is_value() && (values.empty() || flag.takes == Takes::several))
        values.push_back(arguments[next++]);
    if (values.empty() && flag.takes == Takes::one)
      return error(fmt::format("argument {}: expected one argument", all_names(flag)));
    if (values.empty() && flag.takes == Takes::several)
      return error(fmt::format("argument {}: expected at least one argument", all_names(flag)));
    for (const std::string& value : values)
      if (const auto wrong = trouble_with(flag, value))
        return error(fmt::format("argument {}: {}", all_names(flag), *wrong));
    parsed.values_[flag.key()] = std::move(values);
    return {};
  }

  static std::optional<std::string> trouble_with(const ForeignFlag& flag, const std::string& value) {
    if (flag.check != nullptr)
      if (auto wrong = flag.check(value)) return wrong;
    if (flag.choices.empty() ||
        std::find(flag.choices.begin(), flag.choices.end(), value) != flag.choices.end())
      return std::nullopt;
    std::string choices;
    for (const std::string_view choice : flag.choices)
      choices += fmt::format("{}'{}'", choices.empty() ? "" : ", ", choice);
    return fmt::format("invalid choice: '{}' (choose from {})", value, choices);
  }

  tl::expected<Parsed, ParseStop> run() {
    while (next < arguments.size()) {
      const std::string& argument = arguments[next++];
      if (argument == "--") {  // what follows is no flag, and nothing takes it
        for (; next < arguments.size(); ++next) unknown.push_back(arguments[next]);
        break;
      }
      auto word = read(argument);
      if (!word) return tl::unexpected(word.error());
      if (word->word != Word::flag) {
        unknown.push_back(argument);
        continue;
      }
      if (auto taken = take(std::move(word->found)); !taken) return tl::unexpected(taken.error());
    }
    std::string missing, extra;
    for (const ForeignFlag& flag : command.flags)
      if (flag.required && !parsed.has(flag.key()))
        missing += (missing.empty() ? "" : ", ") + all_names(flag);
    if (!missing.empty()) return error("the following arguments are required: " + missing);
    for (const std::string& each : unknown) extra += " " + each;
    if (!extra.empty()) return error("unrecognized arguments:" + extra);
    return std::move(parsed);
  }
};

tl::expected<Parsed, ParseStop> parse_foreign(const ForeignCommand& command,
                                              std::span<const std::string> arguments) {
  return ForeignParser{command, arguments, {}, {}, 0}.run();
}

}  // namespace assay::cli
