#include "assay/format/pickle.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/format/big_integer.h"
#include "assay/format/pickle_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_map>

namespace assay {
namespace {

using Kind = PickleValue::Kind;
using Refs = std::vector<PickleRef>;

constexpr PickleRef kNone = 0, kFalse = 1, kTrue = 2;
constexpr PickleRef kUnset = std::numeric_limits<PickleRef>::max();
constexpr int64_t kOpCost = 4, kMemoCost = 4, kSparseMemoCost = 64;  // bytes
constexpr size_t kMemoGap = 1024;  // Python numbers its memo without gaps; others may leave some

class Machine {
 public:
  Machine(PickleInput& input, int64_t memory) : input_(input), memory_(memory), begin_(input.position()) {
    graph_.values.resize(3);
    graph_.values[kFalse].kind = graph_.values[kTrue].kind = Kind::boolean;
    graph_.values[kTrue].integer = 1;
    small_.fill(kUnset);
  }
  Result<PickleGraph> run();

  // ----- the operations; the table below says which opcode means which
  Result<void> proto() {
    ASSAY_TRY(const Bytes version, input_.take(1));
    if (version[0] > std::byte{5})
      return wrong("is of protocol {}; 0 to 5 are known", static_cast<int>(version[0]));
    return {};
  }
  Result<void> frame() { return skip(8); }  // frames only help to read ahead
  Result<void> stop() {
    ASSAY_TRY(graph_.root, pop());
    stopped_ = true;
    return {};
  }
  Result<void> mark() {
    marks_.push_back(stack_.size());
    return charge(static_cast<int64_t>(sizeof(size_t)));
  }
  Result<void> drop() {  // POP takes a mark away if there is nothing above it
    if (!marks_.empty() && marks_.back() == stack_.size()) {
      marks_.pop_back();
      return {};
    }
    return pop().map([](PickleRef) {});
  }
  Result<void> drop_to_mark() {
    return pop_to_mark().map([](const Refs&) {});
  }
  Result<void> duplicate() {
    ASSAY_TRY(const PickleRef top, top_ref());
    return push(top);
  }
  template <PickleRef kRef>
  Result<void> constant() {
    return push(kRef);
  }

  Result<void> int_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    if (line == "00" || line == "01") return push(line == "01" ? kTrue : kFalse);
    return push_decimal(trim(line));
  }
  Result<void> long_line() {
    ASSAY_TRY(std::string_view line, input_.take_line());
    if (line.ends_with('L')) line.remove_suffix(1);
    return push_decimal(line);
  }
  template <class T>
  Result<void> fixed_int() {
    ASSAY_TRY(const Bytes bytes, input_.take(sizeof(T)));
    return push_int(load_le<T>(bytes));
  }
  template <class Length>
  Result<void> long_bytes() {
    ASSAY_TRY(std::string bytes, counted<Length>());
    if (bytes.size() > sizeof(int64_t)) return push({.kind = Kind::big_integer, .text = std::move(bytes)});
    if (bytes.empty()) return push_int(0);
    uint64_t value = static_cast<signed char>(bytes.back()) < 0 ? ~uint64_t{0} : 0;  // sign extension
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return push_int(static_cast<int64_t>(value));
  }
  Result<void> float_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    const auto value = parse_double(trim(line));
    if (!value) return wrong("has \"{}\" where a number is expected", printable(line.substr(0, 40)));
    return push({.kind = Kind::real, .real = *value});
  }
  Result<void> float_big_endian() {
    ASSAY_TRY(const Bytes bytes, input_.take(8));
    return push(
        {.kind = Kind::real, .real = std::bit_cast<double>(__builtin_bswap64(load_le<uint64_t>(bytes)))});
  }

  Result<void> string_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    auto text = unquote_python(trim(line));
    if (!text) return wrong("has a string that is not quoted as Python does");
    return push({.kind = Kind::bytes, .is_str = true, .text = std::move(*text)});
  }
  Result<void> unicode_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    auto text = decode_raw_unicode(line);
    if (!text) return wrong("has a text with a broken \\u escape");
    return push({.kind = Kind::text, .text = std::move(*text)});
  }
  template <Kind kKind, class Length, bool kStr = false>
  Result<void> counted_text() {
    ASSAY_TRY(std::string text, counted<Length>());
    return push({.kind = kKind, .is_str = kStr, .text = std::move(text)});
  }

  template <Kind kKind>
  Result<void> empty() {
    return push({.kind = kKind});
  }
  template <Kind kKind>
  Result<void> from_mark() {
    ASSAY_TRY(Refs items, pop_to_mark());
    if (kKind == Kind::dict && items.size() % 2 != 0)
      return wrong("has a dictionary with a key without a value");
    return push({.kind = kKind, .items = std::move(items)});
  }
  template <size_t kCount>
  Result<void> short_tuple() {
    Refs items(kCount);
    for (size_t i = kCount; i-- > 0;) {
      ASSAY_TRY(items[i], pop());
    }
    return push({.kind = Kind::tuple, .items = std::move(items)});
  }
  Result<void> append() {
    ASSAY_TRY(const PickleRef item, pop());
    return add({item}, false);
  }
  Result<void> appends() {
    ASSAY_TRY(const Refs items, pop_to_mark());
    return add(items, false);
  }
  Result<void> set_item() {
    ASSAY_TRY(const PickleRef value, pop());
    ASSAY_TRY(const PickleRef key, pop());
    return add({key, value}, true);
  }
  Result<void> set_items() {
    ASSAY_TRY(const Refs items, pop_to_mark());
    return add(items, true);
  }

  Result<void> global_lines() {
    ASSAY_TRY(std::string name, global_name());
    return push({.kind = Kind::global, .text = std::move(name)});
  }
  Result<void> global_from_stack() {
    ASSAY_TRY(const PickleRef name, pop());
    ASSAY_TRY(const PickleRef module, pop());
    if (graph_[name].kind != Kind::text || graph_[module].kind != Kind::text)
      return wrong("imports something that is not named by text");
    return push({.kind = Kind::global,
                 .text = graph_[module].text + "." + graph_[name].text,
                 .items = {module, name}});
  }
  Result<void> call() {  // REDUCE
    ASSAY_TRY(const PickleRef arguments, pop());
    ASSAY_TRY(const PickleRef callable, pop());
    return push_call(callable, arguments);
  }
  Result<void> make_object() {  // NEWOBJ
    ASSAY_TRY_DO(call());
    graph_.values[stack_.back()].is_object = true;
    return {};
  }
  Result<void> make_object_with_keywords() {  // NEWOBJ_EX
    ASSAY_TRY(const PickleRef keywords, pop());
    ASSAY_TRY_DO(make_object());
    graph_.values[stack_.back()].keywords = keywords;
    return {};
  }
  Result<void> call_named() {  // INST
    ASSAY_TRY(std::string name, global_name());
    ASSAY_TRY(Refs arguments, pop_to_mark());
    ASSAY_TRY(const PickleRef callable, make({.kind = Kind::global, .text = std::move(name)}));
    ASSAY_TRY(const PickleRef tuple, make({.kind = Kind::tuple, .items = std::move(arguments)}));
    return push_call(callable, tuple);
  }
  Result<void> call_from_mark() {  // OBJ
    ASSAY_TRY(Refs items, pop_to_mark());
    if (items.empty()) return wrong("makes an object of no class");
    const PickleRef callable = items.front();
    items.erase(items.begin());
    ASSAY_TRY(const PickleRef tuple, make({.kind = Kind::tuple, .items = std::move(items)}));
    return push_call(callable, tuple);
  }
  Result<void> build() {
    ASSAY_TRY(const PickleRef state, pop());
    ASSAY_TRY(const PickleRef object, top_ref());
    if (graph_[object].kind != Kind::call) return wrong("gives a state to something that is not an object");
    if (graph_[object].state != kNone) return wrong("gives one object two states");
    graph_.values[object].state = state;
    return {};
  }
  Result<void> persistent_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    ASSAY_TRY(const PickleRef id, make({.kind = Kind::text, .text = std::string(line)}));
    return push({.kind = Kind::persistent, .items = {id}});
  }
  Result<void> persistent() {
    ASSAY_TRY(const PickleRef id, pop());
    return push({.kind = Kind::persistent, .items = {id}});
  }

  Result<void> get_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    return recall(parse_int(line).value_or(-1));
  }
  template <class T>
  Result<void> get() {
    ASSAY_TRY(const Bytes bytes, input_.take(sizeof(T)));
    return recall(load_le<T>(bytes));
  }
  Result<void> put_line() {
    ASSAY_TRY(const std::string_view line, input_.take_line());
    return memoize_at(parse_int(line).value_or(-1));
  }
  template <class T>
  Result<void> put() {
    ASSAY_TRY(const Bytes bytes, input_.take(sizeof(T)));
    return memoize_at(load_le<T>(bytes));
  }
  Result<void> memoize() { return memoize_at(memoized_); }
  Result<void> refuse_extension() {
    return wrong("uses an extension code, which only the program that wrote it can resolve");
  }
  Result<void> refuse_buffer() { return wrong("keeps data in buffers outside of itself"); }

 private:
  template <class... Args>
  tl::unexpected<Error> wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return fail(ErrorKind::bad_format, "{}: pickle {} (at byte {})", input_.name(),
                fmt::format(text, std::forward<Args>(args)...), input_.position());
  }
  Result<void> charge(int64_t bytes) {
    used_ += bytes;  // each call adds no more than what was read, so the sum cannot overflow
    if (used_ + (input_.position() - begin_) <= memory_) return {};
    return fail(ErrorKind::limit, "{}: pickle needs more than the limit of {} bytes; raise --memory",
                input_.name(), memory_);
  }
  Result<void> skip(int64_t count) {
    return input_.take(count).map([](Bytes) {});
  }
  template <class Length>
  Result<std::string> counted() {
    ASSAY_TRY(const Bytes length, input_.take(sizeof(Length)));
    const auto count =
        static_cast<int64_t>(load_le<Length>(length));  // past 63 bits: negative, which take() refuses
    ASSAY_TRY(const Bytes bytes, input_.take(count));
    return std::string(as_text(bytes));
  }
  Result<std::string> global_name() {
    ASSAY_TRY(const std::string_view module, input_.take_line());
    std::string name(module);
    ASSAY_TRY(const std::string_view rest, input_.take_line());
    return name.append(".").append(rest);
  }

  Result<PickleRef> make(PickleValue value) {
    ASSAY_TRY_DO(charge(static_cast<int64_t>(sizeof(PickleValue) + value.text.size() +
                                             value.items.size() * sizeof(PickleRef))));
    if (graph_.values.size() >= kUnset)
      return fail(ErrorKind::limit, "{}: pickle has too many values", input_.name());
    graph_.values.push_back(std::move(value));
    return static_cast<PickleRef>(graph_.values.size() - 1);
  }
  Result<void> push(PickleRef ref) {
    stack_.push_back(ref);
    return {};
  }
  Result<void> push(PickleValue value) {
    ASSAY_TRY(const PickleRef ref, make(std::move(value)));
    return push(ref);
  }
  Result<void> push_int(int64_t value) {
    if (value < 0 || value >= std::ssize(small_)) return push({.kind = Kind::integer, .integer = value});
    PickleRef& ref = small_[static_cast<size_t>(value)];
    if (ref == kUnset) {
      ASSAY_TRY(ref, make({.kind = Kind::integer, .integer = value}));
    }
    return push(ref);
  }
  Result<void> push_decimal(std::string_view digits) {
    if (const auto value = parse_int(digits)) return push_int(*value);
    const bool number = !digits.empty() && digits.find_first_not_of("0123456789", digits[0] == '-' ? 1 : 0) ==
                                               std::string_view::npos;
    if (!number) return wrong("has \"{}\" where an integer is expected", printable(digits.substr(0, 40)));
    if (digits.size() > kMostBigDigits)
      return wrong("has an integer of {} digits; Python reads up to {}", digits.size(), kMostBigDigits);
    return push({.kind = Kind::big_integer, .text = big_integer_bytes(digits)});
  }
  Result<void> push_call(PickleRef callable, PickleRef arguments) {
    if (graph_[arguments].kind != Kind::tuple) return wrong("calls with arguments that are not a tuple");
    return push({.kind = Kind::call, .items = {callable, arguments}});
  }

  // What lies below the last mark is out of reach until the mark is gone.
  Result<PickleRef> top_ref() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return wrong("takes from an empty stack");
    return stack_.back();
  }
  Result<PickleRef> pop() {
    ASSAY_TRY(const PickleRef ref, top_ref());
    stack_.pop_back();
    return ref;
  }
  Result<Refs> pop_to_mark() {
    if (marks_.empty()) return wrong("takes up to a mark that was never set");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Refs items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  Result<void> add(const Refs& items, bool pairs) {
    ASSAY_TRY(const PickleRef target, top_ref());
    PickleValue& value = graph_.values[target];
    const bool fits =
        value.kind == Kind::call ||
        (pairs ? value.kind == Kind::dict : value.kind == Kind::list || value.kind == Kind::set);
    if (!fits) return wrong("adds {} to something that cannot hold them", pairs ? "pairs" : "elements");
    if (pairs && items.size() % 2 != 0) return wrong("adds a key without a value");
    if (value.kind == Kind::call && !items.empty()) {
      if (value.items.size() > 2 && value.added_pairs != pairs)
        return wrong("adds both pairs and elements to one object");
      value.added_pairs = pairs;
    }
    value.items.insert(value.items.end(), items.begin(), items.end());
    return charge(std::ssize(items) * static_cast<int64_t>(sizeof(PickleRef)));
  }

  Result<void> recall(int64_t index) {
    if (index >= 0 && index < std::ssize(memo_) && memo_[static_cast<size_t>(index)] != kUnset)
      return push(memo_[static_cast<size_t>(index)]);
    const auto found = sparse_memo_.find(index);
    if (found == sparse_memo_.end()) return wrong("recalls value {}, which was never remembered", index);
    return push(found->second);
  }
  Result<void> memoize_at(int64_t index) {
    ASSAY_TRY(const PickleRef top, top_ref());
    if (index < 0) return wrong("remembers a value under a bad number");
    ++memoized_;
    const auto at = static_cast<size_t>(index);
    if (at >= memo_.size() + kMemoGap) {
      sparse_memo_[index] = top;
      return charge(kSparseMemoCost);
    }
    if (at >= memo_.size()) {
      ASSAY_TRY_DO(charge(static_cast<int64_t>(at + 1 - memo_.size()) * kMemoCost));
      memo_.resize(at + 1, kUnset);
    }
    memo_[at] = top;
    return {};
  }

  PickleInput& input_;
  const int64_t memory_, begin_;
  int64_t used_ = 0;
  PickleGraph graph_;
  Refs stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  Refs memo_;
  std::unordered_map<int64_t, PickleRef> sparse_memo_;
  int64_t memoized_ = 0;
  std::array<PickleRef, 256> small_;  // shared values of the small integers
  bool stopped_ = false;
};

using M = Machine;
struct Opcode {
  uint8_t code;
  Result<void> (Machine::*run)();
};
// Every opcode of protocols 0 to 5 (Python's pickletools.py names them).
// clang-format off
constexpr Opcode kOpcodes[] = {
    {0x80, &M::proto}, {0x95, &M::frame}, {'.', &M::stop},
    {'(', &M::mark}, {'0', &M::drop}, {'1', &M::drop_to_mark}, {'2', &M::duplicate},
    {'N', &M::constant<kNone>}, {0x88, &M::constant<kTrue>}, {0x89, &M::constant<kFalse>},
    // numbers
    {'I', &M::int_line}, {'L', &M::long_line}, {'J', &M::fixed_int<int32_t>}, {'K', &M::fixed_int<uint8_t>},
    {'M', &M::fixed_int<uint16_t>}, {0x8a, &M::long_bytes<uint8_t>}, {0x8b, &M::long_bytes<uint32_t>},
    {'F', &M::float_line}, {'G', &M::float_big_endian},
    // text and bytes
    {'S', &M::string_line}, {'V', &M::unicode_line},
    {'T', &M::counted_text<Kind::bytes, uint32_t, true>}, {'U', &M::counted_text<Kind::bytes, uint8_t, true>},
    {'X', &M::counted_text<Kind::text, uint32_t>}, {0x8c, &M::counted_text<Kind::text, uint8_t>},
    {0x8d, &M::counted_text<Kind::text, uint64_t>},
    {'B', &M::counted_text<Kind::bytes, uint32_t>}, {'C', &M::counted_text<Kind::bytes, uint8_t>},
    {0x8e, &M::counted_text<Kind::bytes, uint64_t>}, {0x96, &M::counted_text<Kind::bytes, uint64_t>},
    {0x97, &M::refuse_buffer}, {0x98, &M::refuse_buffer},
    // containers
    {']', &M::empty<Kind::list>}, {'a', &M::append}, {'e', &M::appends}, {'l', &M::from_mark<Kind::list>},
    {')', &M::empty<Kind::tuple>}, {'t', &M::from_mark<Kind::tuple>},
    {0x85, &M::short_tuple<1>}, {0x86, &M::short_tuple<2>}, {0x87, &M::short_tuple<3>},
    {'}', &M::empty<Kind::dict>}, {'d', &M::from_mark<Kind::dict>}, {'s', &M::set_item}, {'u', &M::set_items},
    {0x8f, &M::empty<Kind::set>}, {0x90, &M::appends}, {0x91, &M::from_mark<Kind::set>},
    // names, calls, objects: recorded, never followed
    {'c', &M::global_lines}, {0x93, &M::global_from_stack}, {'R', &M::call}, {0x81, &M::make_object},
    {0x92, &M::make_object_with_keywords}, {'i', &M::call_named}, {'o', &M::call_from_mark}, {'b', &M::build},
    {'P', &M::persistent_line}, {'Q', &M::persistent},
    {0x82, &M::refuse_extension}, {0x83, &M::refuse_extension}, {0x84, &M::refuse_extension},
    // memo
    {'g', &M::get_line}, {'h', &M::get<uint8_t>}, {'j', &M::get<uint32_t>},
    {'p', &M::put_line}, {'q', &M::put<uint8_t>}, {'r', &M::put<uint32_t>}, {0x94, &M::memoize},
};
// clang-format on

using Runner = Result<void> (Machine::*)();
constexpr std::array<Runner, 256> by_code() {
  std::array<Runner, 256> runners{};
  for (const Opcode& opcode : kOpcodes) runners[opcode.code] = opcode.run;
  return runners;
}

// Ctrl-C is asked for now and then: a small file can unfold into hundreds of millions of steps.
constexpr int64_t kOpsBetweenChecks = 1 << 16;

Result<PickleGraph> Machine::run() {
  static constexpr std::array<Runner, 256> kRunners = by_code();
  for (int64_t count = 0; !stopped_; ++count) {
    if (count % kOpsBetweenChecks == 0) ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Bytes code, input_.take(1));
    const auto opcode = static_cast<size_t>(code[0]);
    if (kRunners[opcode] == nullptr) return wrong("has the unknown opcode 0x{:02x}", opcode);
    ASSAY_TRY_DO(charge(kOpCost));
    ASSAY_TRY_DO((this->*kRunners[opcode])());
  }
  graph_.size = input_.position() - begin_;
  return std::move(graph_);
}

}  // namespace

Result<PickleGraph> read_pickle(PickleInput& input, int64_t memory) { return Machine(input, memory).run(); }

}  // namespace assay
