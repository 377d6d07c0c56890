// Values and names as text of each output. Names come from dumps and may hold any bytes.
#pragma once

#include "assay/model/value.h"

#include <string>
#include <string_view>

namespace assay {

// printable(): the one rule for names, wherever they are shown. It leaves nothing that a terminal obeys, nor
// anything that XML forbids.
std::string shown(std::string_view text);

// Shortest text that reads back as the same number; nan, inf, -inf.
void append_number(std::string& out, double number);
void append_number(std::string& out, int64_t number);

// The value as a person reads it: shown(), "true", "0.5"; nothing where absent.
std::string plain(const Value& value);

// A spreadsheet would take this text for a formula (it starts with = + - @ % or their wide forms and is no
// number).
bool looks_like_formula(std::string_view text);

// One cell of RFC 4180, quoted only where needed. A text that looks like a formula gets a ' in front.
void append_csv(std::string& out, const Value& value);
// As pandas writes it: True, 1.0, line breaks kept; NaN and absent are empty.
void append_python_csv(std::string& out, const Value& value);
// The same, but a number is a text with its unit: nan, inf and 12.5%.
void append_written_csv(std::string& out, const Value& value, std::string_view unit);
enum class Breaks : uint8_t { shown, kept };  // line breaks and tabs of a text
void append_csv_text(std::string& out, std::string_view text, Breaks breaks = Breaks::shown);

// JSON. NaN and infinities are not JSON: they become the texts "nan", "inf", "-inf". Absent is null.
void append_json(std::string& out, const Value& value);
void append_json_text(std::string& out, std::string_view text);

// Content of an element or of a quoted attribute.
void append_xml_text(std::string& out, std::string_view text);

// The same for a text cell of a spreadsheet: a ' in front of what looks like a formula, "_x0041_" kept from
// being read as "A", and cut with an … where Excel would refuse the length. Line breaks and tabs may be kept.
void append_sheet_text(std::string& out, std::string_view text, Breaks breaks = Breaks::shown);

}  // namespace assay
