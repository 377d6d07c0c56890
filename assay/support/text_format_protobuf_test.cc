// What protobuf prints must come out of our reader as it went in: random messages of protobuf's own schema
// (descriptor.proto has every kind of field, and messages inside each other).
#include "assay/support/text_format.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <random>

namespace assay {
namespace {

namespace pb = google::protobuf;
using Fields = std::vector<std::string>;  // key=value, key{ and }

class Messages {
 public:
  explicit Messages(unsigned seed) : engine_(seed) {}

  void fill(pb::Message& message, int depth) {
    const pb::Reflection* const access = message.GetReflection();
    const pb::Descriptor* const type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const pb::FieldDescriptor* const field = type->field(i);
      const bool is_message = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
      if (below(3) == 0 || (is_message && depth == 0)) continue;
      for (size_t left = field->is_repeated() ? below(4) : 1; left > 0; --left)
        if (is_message)
          fill(field->is_repeated() ? *access->AddMessage(&message, field)
                                    : *access->MutableMessage(&message, field),
               depth - 1);
        else
          set(message, field);
    }
    pb::UnknownFieldSet& unknown = *access->MutableUnknownFields(&message);
    if (below(4) == 0) unknown.AddVarint(7000, engine_());
    if (below(4) == 0) unknown.AddGroup(7001)->AddFixed32(3, static_cast<uint32_t>(engine_()));
  }

 private:
  size_t below(size_t n) { return engine_() % n; }

  std::string bytes(bool is_utf8) {
    std::string out;
    for (size_t left = below(20); left > 0; --left) out += static_cast<char>(below(is_utf8 ? 128 : 256));
    return out;
  }

  void set(pb::Message& message, const pb::FieldDescriptor* field) {
    const pb::Reflection* const access = message.GetReflection();
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_STRING: {
        const std::string value = bytes(field->type() == pb::FieldDescriptor::TYPE_STRING);
        many ? access->AddString(&message, field, value) : access->SetString(&message, field, value);
        break;
      }
      case pb::FieldDescriptor::CPPTYPE_INT32: {
        const auto value = static_cast<int32_t>(engine_());
        many ? access->AddInt32(&message, field, value) : access->SetInt32(&message, field, value);
        break;
      }
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        access->SetBool(&message, field, below(2) == 0);
        break;
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        access->SetEnum(&message, field, field->enum_type()->value(static_cast<int>(below(2))));
        break;
      case pb::FieldDescriptor::CPPTYPE_UINT64:
        access->SetUInt64(&message, field, engine_());
        break;
      case pb::FieldDescriptor::CPPTYPE_INT64:
        access->SetInt64(&message, field, static_cast<int64_t>(engine_()));
        break;
      case pb::FieldDescriptor::CPPTYPE_DOUBLE: {
        const double values[] = {-1.5e-300, 0.1, INFINITY, -INFINITY, 1e22, -0.0};
        access->SetDouble(&message, field, values[below(std::size(values))]);
        break;
      }
      default:
        FAIL() << "descriptor.proto has no field of type " << field->type_name();
    }
  }

  std::mt19937_64 engine_;
};

// The order of the printer: known fields by their number, then unknown ones.
void list_fields(const pb::Message& message, Fields& out) {
  const pb::Reflection* const access = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  access->ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields) {
    const bool many = field->is_repeated();
    for (int i = 0; i < (many ? access->FieldSize(message, field) : 1); ++i) {
      const auto add = [&](const auto& value) { out.push_back(fmt::format("{}={}", field->name(), value)); };
      switch (field->cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_MESSAGE:
          out.push_back(field->name() + "{");
          list_fields(
              many ? access->GetRepeatedMessage(message, field, i) : access->GetMessage(message, field), out);
          out.emplace_back("}");
          break;
        case pb::FieldDescriptor::CPPTYPE_STRING:
          add(many ? access->GetRepeatedString(message, field, i) : access->GetString(message, field));
          break;
        case pb::FieldDescriptor::CPPTYPE_INT32:
          add(many ? access->GetRepeatedInt32(message, field, i) : access->GetInt32(message, field));
          break;
        case pb::FieldDescriptor::CPPTYPE_BOOL:
          add(access->GetBool(message, field));
          break;
        case pb::FieldDescriptor::CPPTYPE_ENUM:
          add(access->GetEnum(message, field)->name());
          break;
        case pb::FieldDescriptor::CPPTYPE_UINT64:
          add(access->GetUInt64(message, field));
          break;
        case pb::FieldDescriptor::CPPTYPE_INT64:
          add(access->GetInt64(message, field));
          break;
        default:
          add(access->GetDouble(message, field));
      }
    }
  }
  const pb::UnknownFieldSet& unknown = access->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).type() == pb::UnknownField::TYPE_VARINT) {
      out.push_back(fmt::format("7000={}", unknown.field(i).varint()));
    } else {
      out.emplace_back("7001{");
      out.push_back(fmt::format("3=0x{:08x}", unknown.field(i).group().field(0).fixed32()));
      out.emplace_back("}");
    }
  }
}

Fields walk(const fs::path& path) {
  TextFormatReader reader(*File::open(path), 1 << 20);
  Fields out;
  std::string text;
  for (;;) {
    const TextEvent event = reader.next();
    const std::string_view key = reader.key();
    if (event == TextEvent::text && reader.read_text(text)) out.push_back(fmt::format("{}={}", key, text));
    if (event == TextEvent::word && key == "double_value") {
      double value = 0;
      const std::string_view word = reader.word();
      std::from_chars(word.data(), word.data() + word.size(), value);
      out.push_back(fmt::format("{}={}", key, value));
    } else if (event == TextEvent::word) {
      out.push_back(fmt::format("{}={}", key, reader.word()));
    }
    if (event == TextEvent::open) out.push_back(fmt::format("{}{{", key));
    if (event == TextEvent::close) out.emplace_back("}");
    if (event == TextEvent::end) return out;
    if (event == TextEvent::failed) {
      out.push_back(reader.error().message);
      return out;
    }
  }
}

TEST(TextFormatOfProtobuf, ComesOutAsItWentIn) {
  std::string pattern = (fs::temp_directory_path() / "assay_text_format_XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  size_t most = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    pb::FileDescriptorProto message;
    Messages(seed).fill(message, 4);
    Fields expected;
    list_fields(message, expected);
    most = std::max(most, expected.size());

    pb::TextFormat::Printer printer;
    printer.SetSingleLineMode(seed % 2 == 0);
    printer.SetUseShortRepeatedPrimitives(seed % 3 == 0);
    printer.SetUseUtf8StringEscaping(seed % 5 == 0);
    std::string text;
    ASSERT_TRUE(printer.PrintToString(message, &text));
    std::ofstream(folder / "message.txt", std::ios::binary) << text;
    ASSERT_EQ(walk(folder / "message.txt"), expected) << "seed " << seed;
  }
  EXPECT_GT(most, 1000u);  // or the messages are no test
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay
