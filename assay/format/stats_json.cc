#include "assay/format/stats_json.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/stats_claims.h"
#include "assay/model/fact_keys.h"
#include "assay/support/json_tape.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace assay {
namespace {

constexpr std::string_view kVersionKey = "assay_stats";
constexpr int64_t kVersion = 1;
constexpr size_t kMostStatedDimensions = 64;

struct Member {
  std::string_view key;
  Value Stats::*value;
};
constexpr std::array<Member, 4> kMembers = {
    {{"max", &Stats::max}, {"min", &Stats::min}, {"mean", &Stats::mean}, {"norm", &Stats::norm}}};

struct FiniteMember {
  std::string_view key;
  Scalar Nonfinite::*value;
};
constexpr std::array<FiniteMember, 4> kFiniteMembers = {{{"max", &Nonfinite::max},
                                                         {"min", &Nonfinite::min},
                                                         {"mean", &Nonfinite::mean},
                                                         {"norm", &Nonfinite::norm}}};

// ----- writing

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void write_text(Writer& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write_key(Writer& json, std::string_view key) {
  json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

void write_integer(Writer& json, std::string_view key, int64_t value) {
  write_key(json, key);
  json.Int64(value);
}

void write_value(Writer& json, const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    json.Bool(*truth);
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    json.Int64(*whole);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    write_text(json, printable(*text));
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (std::isfinite(*real))
      json.Double(*real);
    else  // JSON has no numbers for these
      write_text(json, std::isnan(*real) ? "nan" : *real > 0 ? "inf" : "-inf");
  } else {
    json.Null();
  }
}

void write_statistics(Writer& json, const Stats& stats) {
  for (const Member& member : kMembers) {
    write_key(json, member.key);
    const Value& value = stats.*member.value;
    if (const auto* digits = std::get_if<std::string>(&value))  // an integer that 64 bits do not hold
      json.RawValue(digits->data(), digits->size(), rapidjson::kNumberType);
    else
      write_value(json, value);
  }
}

void write_tensor(Writer& json, const TensorStatistics& tensor) {
  json.StartObject();
  write_key(json, "name");
  write_text(json, printable(tensor.name));
  write_key(json, "dtype");
  write_text(json, name(tensor.meta.dtype));
  write_key(json, "shape");
  json.StartArray();
  for (const int64_t dim : tensor.meta.shape.dims) json.Int64(dim);
  json.EndArray();
  write_statistics(json, tensor.stats);
  write_integer(json, "nan", tensor.nans);
  write_integer(json, "inf", tensor.infs);
  if (tensor.infs > 0) write_integer(json, "minus_inf", tensor.minus_infs);
  write_integer(json, kZerosKey, tensor.zeros);
  write_key(json, "crc32");
  write_text(json, tensor.stats.checksum);
  if (tensor.finite) {
    write_key(json, "finite");
    json.StartObject();
    write_statistics(json, *tensor.finite);
    json.EndObject();
  }
  if (!tensor.facts.empty()) {
    write_key(json, "facts");
    json.StartObject();
    for (const Fact& fact : tensor.facts) {
      write_key(json, fact.key);
      write_value(json, fact.value);
    }
    json.EndObject();
  }
  json.EndObject();
}

// ----- reading

bool sniff_stats(Bytes head, int64_t /*file_size*/) {
  const std::string_view text = trim(as_text(head));
  if (!text.starts_with('{')) return false;
  const std::string_view inside = trim(text.substr(1));
  return inside.starts_with('"') && inside.substr(1).starts_with(kVersionKey) &&
         inside.substr(1 + kVersionKey.size()).starts_with('"');
}

// A member that is there twice says two things, of which nobody knows the true one.
std::optional<std::string_view> repeated_key(const JsonTape& tape, size_t object) {
  std::set<std::string_view> keys;
  for (size_t at = tape.first(object); !tape.is_end(at); at = tape.next(tape.next(at)))
    if (!keys.insert(tape.text(at)).second) return tape.text(at);
  return std::nullopt;
}

// Reads one tensor; `where` names it in messages.
class TensorReader {
 public:
  TensorReader(const JsonTape& tape, size_t object, std::string where)
      : tape_(tape), object_(object), where_(std::move(where)) {}

  Result<StoredTensor> read() const {
    if (tape_.kind(object_) != JsonKind::object) return wrong("is not an object");
    ASSAY_TRY_DO(check_keys(object_));
    StoredTensor tensor{.name = "", .data = OperandPtr(), .meta = {}, .stats = {}, .facts = {}};
    if (const size_t at = tape_.find(object_, "name"); at != 0 && tape_.is_text(at))
      tensor.name = tape_.text(at);
    ASSAY_TRY(tensor.meta, read_meta());
    Stats stats;
    for (const Member& member : kMembers) {
      ASSAY_TRY(stats.*member.value, read_number(member.key));
    }
    if (const size_t at = tape_.find(object_, "crc32"); at != 0 && tape_.is_text(at))
      stats.checksum = tape_.text(at);
    int64_t zeros = -1;
    for (const std::string_view key :
         {std::string_view("nan"), std::string_view("inf"), std::string_view("minus_inf"), kZerosKey})
      if (const size_t at = tape_.find(object_, key); at != 0) {
        if (tape_.kind(at) != JsonKind::integer || tape_.integer(at) < 0)
          return wrong(fmt::format("has a \"{}\" that is no count", key));
        tensor.facts.push_back({std::string(key), tape_.integer(at)});
        if (key == "nan") stats.nonfinite.nans = tape_.integer(at);
        if (key == "inf") stats.nonfinite.infs = tape_.integer(at);
        if (key == "minus_inf") stats.nonfinite.minus_infs = tape_.integer(at);
        if (key == kZerosKey) zeros = tape_.integer(at);
      }
    if (stats.nonfinite.infs == 0) stats.nonfinite.minus_infs = 0;
    if (stats.nonfinite.minus_infs > stats.nonfinite.infs)
      return wrong("has more negative infinities than infinities");
    if (const size_t at = tape_.find(object_, "finite"); at != 0 && tape_.kind(at) == JsonKind::object) {
      ASSAY_TRY_DO(check_keys(at));
      for (const FiniteMember& member : kFiniteMembers) {
        ASSAY_TRY(const Value value, read_number_in(at, member.key));
        if (const auto* real = std::get_if<double>(&value)) {
          if (!std::isfinite(*real)) return wrong(fmt::format("has a \"finite\" {} that is not", member.key));
          stats.nonfinite.*member.value = *real;
        }
        if (const auto* whole = std::get_if<int64_t>(&value))
          stats.nonfinite.*member.value = static_cast<double>(*whole);
        if (const auto* digits = std::get_if<std::string>(&value))
          stats.nonfinite.*member.value = *parse_double(*digits);
      }
    }
    if (const std::string why = contradiction_of_statistics(*tensor.meta, stats, zeros); !why.empty()) {
      tensor.data = wrong(fmt::format("has statistics that no tensor has: {}", why));
      return tensor;
    }
    tensor.stats = std::move(stats);
    tensor.data = fail(ErrorKind::not_found, "{}: holds statistics only, no data", where_);
    return tensor;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::bad_format, "{} {}", where_, what);
  }

  Result<void> check_keys(size_t object) const {
    if (const auto key = repeated_key(tape_, object))
      return wrong(fmt::format("has \"{}\" twice", printable(key->substr(0, 40))));
    return {};
  }

  Result<TensorMeta> read_meta() const {
    const size_t type = tape_.find(object_, "dtype"), dims = tape_.find(object_, "shape");
    const auto dtype = type != 0 && tape_.is_text(type) ? find_dtype(tape_.text(type)) : std::nullopt;
    if (!dtype) return wrong("has no \"dtype\" that we know");
    if (dims == 0 || tape_.kind(dims) != JsonKind::array) return wrong("has no \"shape\", an array");
    TensorMeta meta{*dtype, {}};
    for (size_t at = tape_.first(dims); !tape_.is_end(at); at = tape_.next(at)) {
      if (tape_.kind(at) != JsonKind::integer || meta.shape.dims.size() >= kMostStatedDimensions)
        return wrong("has a \"shape\" that is no list of dimensions");
      meta.shape.dims.push_back(tape_.integer(at));
    }
    const auto count = checked_product(meta.shape.dims);
    if (!count || !checked_multiply(*count, size_of(*dtype)))
      return wrong("has a \"shape\" that no tensor can have");
    return meta;
  }

  Result<Value> read_number(std::string_view key) const { return read_number_in(object_, key); }

  Result<Value> read_number_in(size_t object, std::string_view key) const {
    const size_t at = tape_.find(object, key);
    if (at == 0) return Value();
    switch (tape_.kind(at)) {
      case JsonKind::null:
        return Value();
      case JsonKind::boolean:
        return Value(tape_.boolean(at));
      case JsonKind::integer:
        return Value(tape_.integer(at));
      case JsonKind::real:
        return Value(tape_.real(at));
      case JsonKind::big:
        if (!std::isfinite(parse_double(tape_.text(at)).value_or(std::nan("")))) break;
        return Value(std::string(tape_.text(at)));
      case JsonKind::text:
        for (const std::string_view word : {"nan", "inf", "-inf"})
          if (tape_.text(at) == word) return Value(*parse_double(word));
        break;
      default:
        break;
    }
    return wrong(fmt::format("has a \"{}\" that is no number", key));
  }

  const JsonTape& tape_;
  const size_t object_;
  const std::string where_;
};

Result<void> read_tensors(const File& file, const JsonTape& list, TensorSet& set) {
  if (list.kind(0) != JsonKind::array)
    return fail(ErrorKind::bad_format, "{}: its \"tensors\" are not an array", file.name());
  set.tensors.clear();
  for (size_t at = list.first(0); !list.is_end(at); at = list.next(at)) {
    const auto where = fmt::format("{}: tensor {}", file.name(), set.tensors.size());
    ASSAY_TRY(StoredTensor tensor, TensorReader(list, at, where).read());
    set.tensors.push_back(std::move(tensor));
  }
  return {};
}

Result<TensorSet> open_stats(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  TensorSet set;
  set.extent = file->size();
  bool has_version = false, has_tensors = false;
  std::set<std::string, std::less<>> keys;
  const auto read =
      read_json_members(*file, "", options.memory, [&](const JsonMember& member) -> Result<bool> {
        if (member.inside) return true;
        if (!keys.emplace(member.key).second)
          return fail(ErrorKind::bad_format, "{}: has \"{}\" twice", file->name(),
                      printable(member.key.substr(0, 40)));
        if (member.key == kVersionKey) {
          if (member.value.kind(0) != JsonKind::integer || member.value.integer(0) != kVersion)
            return fail(ErrorKind::unsupported, "{}: \"{}\" is not {}; a newer Assay may have written it",
                        file->name(), kVersionKey, kVersion);
          has_version = true;
        } else if (member.key == "tensors") {
          ASSAY_TRY_DO(read_tensors(*file, member.value, set));
          has_tensors = true;
        }
        return true;
      });
  if (!read) return tl::unexpected<Error>(read.error());
  if (!has_version || !has_tensors)
    return fail(ErrorKind::bad_format,
                "{}: has no \"{}\"; assay compact writes it into every file of its own", file->name(),
                has_version ? "tensors" : kVersionKey);
  return set;
}

}  // namespace

std::optional<std::string_view> name_before_compaction(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t start = slash == std::string_view::npos ? 0 : slash + 1;
  if (!name.ends_with(kStatsSuffix) || name.size() - start <= kStatsSuffix.size()) return std::nullopt;
  return name.substr(0, name.size() - kStatsSuffix.size());
}

fs::path statistics_path(const fs::path& source) {
  return source.parent_path() / (source.filename().native() + std::string(kStatsSuffix));
}

bool is_cut_off_statistics(const File& file) {
  const std::string whole = fmt::format("{{\"{}\"", kVersionKey);
  std::string start(whole.size(), '\0');
  const auto got = file.read_some(0, std::as_writable_bytes(std::span(start)));
  return got && file.size() < std::ssize(whole) &&
         whole.starts_with(std::string_view(start).substr(0, static_cast<size_t>(*got)));
}

std::string stats_json_text(const FileStatistics& file) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  const auto take = [&] {
    std::string text(buffer.GetString(), buffer.GetSize());
    buffer.Clear();
    json.Reset(buffer);
    return text;
  };
  json.StartObject();
  write_key(json, "name");
  write_text(json, printable(file.source));
  write_key(json, "format");
  write_text(json, file.format);
  write_integer(json, "bytes", file.bytes);
  json.EndObject();
  std::string out = fmt::format("{{\"{}\":{},\n\"source\":{},\n\"tensors\":[", kVersionKey, kVersion, take());
  const auto list = [&](const std::vector<TensorStatistics>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      write_tensor(json, tensors[i]);
      out += (i == 0 ? "\n" : ",\n") + take();
    }
    out += "\n]";
  };
  list(file.tensors);
  if (!file.others.empty()) {
    out += ",\n\"others\":[";
    list(file.others);
  }
  return out + "}\n";
}

const Format stats_json_format{
    .name = "stats",
    .suffixes = {},  // by content alone: other tools have files of such names too
    .one_tensor = false,
    .sniff = sniff_stats,
    .open = open_stats,
    .write = nullptr,
};

}  // namespace assay
