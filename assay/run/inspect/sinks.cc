#include "assay/base/console.h"
#include "assay/run/inspect/inspect.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Eight heights; a bin that holds anything is never flat.
std::string draw(const std::array<int64_t, kHistogramBins>& counts) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t top = *std::max_element(counts.begin(), counts.end());
  std::string out;
  for (const int64_t count : counts) {
    const auto height =
        static_cast<size_t>(std::ceil(static_cast<double>(count) * 7 / static_cast<double>(top)));
    out += kBars[std::min<size_t>(height, 7)];
  }
  return out;
}

std::string value_text(const Value& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return fmt::format("{:.6g}", d); }
    std::string operator()(const std::string& s) const { return printable(s); }
  };
  return std::visit(Printer{}, value);
}

bool is_set(const Value& value) { return !std::holds_alternative<std::monostate>(value); }

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class TextSink : public InspectSink {
 public:
  explicit TextSink(WriteText write) : write_(std::move(write)) {}

  Result<void> open(const InspectedPath& path) override {
    std::string out = std::exchange(is_first_, false) ? "" : "\n";
    if (!path.trouble.empty())
      out += format_shown("{}\n  unreadable: {}\n", path.path.native(), path.trouble);
    else
      out += format_shown(
          "{}: {}, {}{}{}, {}\n", path.path.native(), path.kind,
          path.files == 1 ? "" : plural(path.files, "file") + ", ", plural(path.tensors, "tensor"),
          path.values == 0 ? "" : ", " + plural(path.values, "value"), format_size(path.bytes));
    return write_(out);
  }

  Result<void> add(const InspectedTensor& tensor) override {
    if (is_beside_tensors(*tensor.item))
      return write_(
          format_shown("  {} = {}\n", tensor.item->name, value_text(to_value(tensor.item->stated->max))));
    std::string out = "  ";
    if (!tensor.section.empty()) out += fmt::format("[{}] ", tensor.section);
    out += format_shown("{}{}", tensor.item->name, tensor.slice);
    if (tensor.meta)
      out += fmt::format("  {} {}  {}", name(tensor.meta->dtype), tensor.meta->shape.text(),
                         format_size(tensor.meta->byte_size()));
    out += '\n';
    if (!tensor.trouble.empty())
      out += format_shown("    unreadable: {}\n", tensor.trouble);
    else if (tensor.measured)
      out += statistics(tensor);
    else if (!tensor.is_listed)
      out += "    no data, only a description\n";
    if (tensor.item->stated != nullptr && !tensor.is_listed) out += stated(*tensor.item->stated);
    if (tensor.item->facts != nullptr && !tensor.is_listed) {
      out += "   ";
      for (const Fact& fact : *tensor.item->facts)
        out += fmt::format(" {}={}", printable(fact.key), value_text(fact.value));
      out += '\n';
    }
    if (!tensor.values.empty()) out += tensor.values + '\n';
    return write_(out);
  }

  Result<void> end() override { return {}; }

 private:
  static std::string statistics(const InspectedTensor& tensor) {
    const OneSide& m = *tensor.measured;
    std::string out = "    ";
    if (m.count == 0) return out + "no elements\n";
    if (m.finite > 0)
      out += fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  std {:.6g}  norm {:.6g}  ", m.min, m.max,
                         m.mean(), m.deviation(), m.norm());
    out += fmt::format("nan {}  inf {}  zero {}", m.nans, m.infs, m.zeros);
    if (tensor.histogram) out += "  " + draw(*tensor.histogram);
    return out + '\n';
  }

  static std::string stated(const Stated& stats) {
    std::string out = "    stated by the dump:";
    const auto add = [&](std::string_view word, const Scalar& scalar) {
      const Value value = to_value(scalar);
      if (is_set(value)) out += fmt::format(" {} {}", word, value_text(value));
    };
    add("min", stats.min);
    add("max", stats.max);
    add("mean", stats.mean);
    add("norm", stats.norm);
    if (!stats.checksum.empty()) out += " checksum " + printable(stats.checksum);
    return out + '\n';
  }

  const WriteText write_;
  bool is_first_ = true;
};

class JsonSink : public InspectSink {
 public:
  explicit JsonSink(WriteText write) : write_(std::move(write)) {}

  Result<void> open(const InspectedPath& path) override {
    path_ = path;
    if (path.trouble.empty()) return {};
    return write_object(object(path_, [&](Writer& json) { member(json, "error", path.trouble); }));
  }

  Result<void> add(const InspectedTensor& tensor) override { return write_object(text_of(path_, tensor)); }

  static std::string text_of(const InspectedPath& path, const InspectedTensor& tensor) {
    return object(path, [&](Writer& json) {
      member(json, "name", tensor.item->name);
      if (!tensor.section.empty()) member(json, "section", tensor.section);
      if (is_beside_tensors(*tensor.item)) return value(json, "value", to_value(tensor.item->stated->max));
      if (!tensor.file.empty()) member(json, "file", display(tensor.file));
      if (tensor.meta) {
        member(json, "dtype", name(tensor.meta->dtype));
        json.Key("shape");
        json.StartArray();
        for (const int64_t dim : tensor.meta->shape.dims) json.Int64(dim);
        json.EndArray();
        integer(json, "bytes", tensor.meta->byte_size());
      }
      if (!tensor.slice.empty()) member(json, "slice", tensor.slice);
      if (tensor.measured) measured(json, tensor);
      if (tensor.item->stated != nullptr) stated(json, *tensor.item->stated);
      if (tensor.item->facts != nullptr) {
        json.Key("facts");
        json.StartObject();
        for (const Fact& fact : *tensor.item->facts) value(json, fact.key, fact.value);
        json.EndObject();
      }
      if (!tensor.values.empty()) {  // lines of our own
        key(json, "values");
        json.String(tensor.values.data(), static_cast<rapidjson::SizeType>(tensor.values.size()));
      }
      if (!tensor.trouble.empty()) member(json, "error", tensor.trouble);
    });
  }

  Result<void> end() override { return write_(is_first_ ? "[]\n" : "\n]\n"); }

 private:
  using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

  static void key(Writer& json, std::string_view name) {
    const std::string shown = printable(name);
    json.Key(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
  }
  static void member(Writer& json, std::string_view name, std::string_view text) {
    key(json, name);
    const std::string shown = printable(text);
    json.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
  }
  static void integer(Writer& json, std::string_view name, int64_t number) {
    key(json, name);
    json.Int64(number);
  }
  // JSON has no word for NaN and infinity.
  static void number(Writer& json, std::string_view name, double x) {
    key(json, name);
    if (std::isfinite(x))
      json.Double(x);
    else
      json.Null();
  }
  static void value(Writer& json, std::string_view name, const Value& v) {
    if (const auto* text = std::get_if<std::string>(&v)) return member(json, name, *text);
    if (const auto* whole = std::get_if<int64_t>(&v)) return integer(json, name, *whole);
    if (const auto* real = std::get_if<double>(&v)) return number(json, name, *real);
    key(json, name);
    if (const auto* truth = std::get_if<bool>(&v))
      json.Bool(*truth);
    else
      json.Null();
  }

  static void measured(Writer& json, const InspectedTensor& tensor) {
    const OneSide& m = *tensor.measured;
    const double none = std::nan("");
    number(json, "min", m.finite > 0 ? m.min : none);
    number(json, "max", m.finite > 0 ? m.max : none);
    number(json, "mean", m.mean());
    number(json, "std", m.deviation());
    number(json, "norm", m.norm());
    integer(json, "nan", m.nans);
    integer(json, "inf", m.infs);
    integer(json, "zero", m.zeros);
    key(json, "histogram");
    if (!tensor.histogram) {
      json.Null();
      return;
    }
    json.StartArray();
    for (const int64_t count : *tensor.histogram) json.Int64(count);
    json.EndArray();
  }

  static void stated(Writer& json, const Stated& stats) {
    json.Key("stated");
    json.StartObject();
    value(json, "min", to_value(stats.min));
    value(json, "max", to_value(stats.max));
    value(json, "mean", to_value(stats.mean));
    value(json, "norm", to_value(stats.norm));
    if (!stats.checksum.empty()) member(json, "checksum", stats.checksum);
    json.EndObject();
  }

  template <class Fill>
  static std::string object(const InspectedPath& path, Fill fill) {
    rapidjson::StringBuffer text;
    Writer json(text);
    json.StartObject();
    member(json, "path", display(path.path));
    if (!path.kind.empty()) member(json, "kind", path.kind);
    fill(json);
    json.EndObject();
    return {text.GetString(), text.GetSize()};
  }

  Result<void> write_object(const std::string& text) {
    return write_((std::exchange(is_first_, false) ? "[\n" : ",\n") + text);
  }

  const WriteText write_;
  InspectedPath path_;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<InspectSink> inspect_as_text(WriteText write) {
  return std::make_unique<TextSink>(std::move(write));
}
std::unique_ptr<InspectSink> inspect_as_json(WriteText write) {
  return std::make_unique<JsonSink>(std::move(write));
}
std::string as_json(const InspectedPath& path, const InspectedTensor& tensor) {
  return JsonSink::text_of(path, tensor);
}

}  // namespace assay
