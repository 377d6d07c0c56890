// A program that calls the probe of ATB as ATB does: operations with operations and kernels inside, round by
// round.
//
//   demo                                 the model that the fixtures were made of
//   run ROUNDS LAYERS ELEMENTS [THREADS] a model of elementwise operations, data from a seed; each thread has
//   one two-models                           two models in one process, an operation of nobody in between
//   kernels COUNT [IN A FOLDER]          tensors of 1 KiB
//   large COUNT MIB                      tensors of so many MiB
//   fork-busy ROUNDS                     children that record, started while three threads do
//   exits | fails | throws | terminates  ends in the middle: by exit, with status 1, by an exception, by a
//                                        handler of SIGTERM that calls exit
//   becomes                              another program in the middle, by exec: this one with "demo"
//   second-save | fork | leave-child | endless | queries | spoilt | spoilt-twice | odd | hot
#include "tests/hosts/atb.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

namespace {

using atb::Probe;

struct Data {
  std::string format, dtype, dims, dtype_name;
  std::vector<unsigned char> bytes;
};

template <class T>
Data data(const char* dtype, const char* name, const std::string& dims, const std::vector<T>& values) {
  Data out{"2", dtype, dims, name, std::vector<unsigned char>(values.size() * sizeof(T))};
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}

struct Operation {
  std::string type, param, kernel, kernel_op;
  std::vector<Data> in, out;
  std::vector<int> in_ids, out_ids;  // among the tensors of the operation around it
  int internals = 0;
  std::vector<Operation> inside = {};
  std::vector<unsigned char> tiling = {};
  bool fails = false;     // of its kernel ATB says that it overflowed
  bool is_listed = true;  // in the table of operations
};

std::atomic<int64_t> next_base{0};

std::string ids_text(const std::vector<int64_t>& ids) {
  std::string out;
  for (const int64_t id : ids) out += (out.empty() ? "" : "_") + std::to_string(id);
  return out;
}

std::string graph_text(const Operation& op, const std::vector<int64_t>& ids, bool is_top) {
  std::string text = "{\"opType\":\"" + op.type + "\",\"opName\":\"" + op.type + "_" + ids_text(ids) +
                     "\",\"inTensorNum\":" + std::to_string(op.in.size()) +
                     ",\"outTensorNum\":" + std::to_string(op.out.size());
  if (op.internals > 0) text += ",\"internalTensorNum\":" + std::to_string(op.internals);
  text += ",\"param\":" + (op.param.empty() ? std::string("\"\"") : op.param);
  const auto list = [](const std::vector<int>& numbers) {
    std::string out = "[";
    for (size_t i = 0; i < numbers.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    return out + "]";
  };
  if (!op.inside.empty()) {
    text += ",\"nodes\":[";
    for (size_t k = 0; k < op.inside.size(); ++k) {
      std::vector<int64_t> below = ids;
      below.push_back(static_cast<int64_t>(k));
      text += (k == 0 ? "" : ",") + graph_text(op.inside[k], below, false);
    }
    text += "]";
  }
  if (!is_top) text += ",\"inTensorIds\":" + list(op.in_ids) + ",\"outTensorIds\":" + list(op.out_ids);
  return text + "}";
}

// One operation object: what it was numbered, and how often it ran.
class Runner {
 public:
  Runner(Operation op, std::vector<int64_t> ids) : op_(std::move(op)), ids_(std::move(ids)) {
    for (size_t k = 0; k < op_.inside.size(); ++k) {
      std::vector<int64_t> below = ids_;
      below.push_back(static_cast<int64_t>(k));
      inside_.emplace_back(op_.inside[k], below);
    }
  }

  std::string name() const { return op_.type + "_" + ids_text(ids_); }
  const Operation& op() const { return op_; }

  void setup(bool is_top) {
    if (!is_set_up_) {
      if (is_top && Probe::ReportOperationGraphEnable())
        Probe::ReportOperationGraph(name(), graph_text(op_, ids_, true));
      needs_ = Probe::IsTensorNeedSave(ids_, op_.type);
      std::vector<int64_t> kernel = ids_;
      kernel.push_back(0);
      kernel_needs_ = Probe::IsTensorNeedSave(kernel, op_.type);
      is_set_up_ = true;
    }
    if (is_top) Probe::UpdateConfig();
    for (Runner& below : inside_) below.setup(false);
  }

  void fill_tiling(const std::string& above, int64_t round) {
    const std::string folder = above + "/" + std::to_string(ids_.back()) + "_" + op_.type;
    if (!op_.tiling.empty()) {
      const std::string kernel = folder + "/0_" + op_.kernel;
      if (kernel_needs_ && Probe::IsExecuteCountInRange(static_cast<uint64_t>(round)) &&
          Probe::IsSaveTiling() && Probe::IsSaveTensorInSpecificDir(kernel))
        Probe::SaveTiling(op_.tiling.data(), op_.tiling.size(), kernel + "/kernel_tilingdata.bin");
    }
    for (Runner& below : inside_) below.fill_tiling(folder, round);
  }

  void execute(const std::string& above, int64_t round) {
    const std::string folder = above + "/" + std::to_string(ids_.back()) + "_" + op_.type;
    const bool saves = gate(folder, round, needs_);
    if (saves && Probe::IsSaveTensorBefore()) save(folder + "/before");
    for (Runner& below : inside_) below.execute(folder, round);
    if (!op_.kernel.empty()) run_kernel(folder, round);
    if (saves && Probe::IsSaveTensorAfter()) save(folder + "/after");
    if (saves && Probe::IsSaveParam() && !op_.param.empty())
      Probe::SaveParam(op_.param, folder + "/op_param.json");
    if (inside_.empty() && op_.is_listed && Probe::ReportOperationIOTensorEnable())
      Probe::ReportOperationIOTensor(static_cast<size_t>(round), name(), io_param(),
                                     io(folder, op_.in, "intensor"), io(folder, op_.out, "outtensor"));
  }

  std::string table_param;  // what the tables say of it, where that is not its parameter

 private:
  std::string io_param() const {
    return !table_param.empty() ? table_param : op_.param.empty() ? "{}" : op_.param;
  }

  static bool gate(const std::string& folder, int64_t round, bool needs) {
    return Probe::IsExecuteCountInRange(static_cast<uint64_t>(round)) && needs &&
           Probe::IsSaveTensorInSpecificDir(folder);
  }

  void save(const std::string& folder) const {
    const auto each = [&](const std::vector<Data>& tensors, const char* word) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        std::vector<unsigned char> copy = tensors[i].bytes;  // gone after the call, as ATB's is
        Probe::SaveTensor(tensors[i].format, tensors[i].dtype, tensors[i].dims, copy.data(), copy.size(),
                          folder + "/" + word + std::to_string(i) + ".bin");
        std::fill(copy.begin(), copy.end(), static_cast<unsigned char>(0xEE));
      }
    };
    each(op_.in, "intensor");
    each(op_.out, "outtensor");
  }

  void run_kernel(const std::string& above, int64_t round) {
    const std::string folder = above + "/0_" + op_.kernel;
    const bool saves = gate(folder, round, kernel_needs_);
    if (saves && Probe::IsSaveTensorBefore()) save(folder + "/before");
    if (saves && Probe::IsSaveTensorAfter()) save(folder + "/after");
    if (op_.fails && Probe::IsOverflowCheck()) Probe::ReportOverflowKernel(name() + ":" + op_.kernel);
    if (!op_.kernel_op.empty() && Probe::ReportKernelIOTensorEnable())
      Probe::ReportKernelIOTensor(static_cast<size_t>(round), op_.kernel_op, "{}",
                                  io(above, op_.in, "intensor"), io(above, op_.out, "outtensor"));
  }

  static std::vector<Probe::Tensor> io(const std::string& folder, const std::vector<Data>& tensors,
                                       const char* word) {
    std::vector<Probe::Tensor> out;
    for (size_t i = 0; i < tensors.size(); ++i)
      out.push_back({tensors[i].dtype_name, "nd", tensors[i].dims,
                     folder + (Probe::IsSaveTensorBefore() ? "/before/" : "/after/") + word +
                         std::to_string(i) + ".bin"});
    return out;
  }

  Operation op_;
  std::vector<int64_t> ids_;
  std::vector<Runner> inside_;
  bool is_set_up_ = false, needs_ = false, kernel_needs_ = false;

 public:
  std::vector<Runner>& inside() { return inside_; }
};

std::string device() { return "0_" + std::to_string(getpid()); }

Runner top(const Operation& op) { return Runner(op, {next_base++}); }

void run(Runner& layer, int64_t round) {
  layer.setup(true);
  const std::string folder = device() + "/" + std::to_string(round);
  layer.fill_tiling(folder, round);
  if (Probe::ReportOperationStatisticEnable())
    Probe::ReportOperationSetupStatistic(static_cast<uint64_t>(round), layer.name(),
                                         "totalTime:10, runnerSetupTime:5, setupTotalCount:1");
  layer.execute(folder, round);
  if (Probe::ReportOperationStatisticEnable())
    Probe::ReportOperationExecuteStatistic(static_cast<uint64_t>(round), layer.name(),
                                           "totalTime:7, kernelExecuteTime:3");
}

void report_model(const std::string& name, const std::vector<std::string>& types) {
  if (!atb_speed::SpeedProbe::IsReportModelTopoInfo(name)) return;
  std::string text = "{\"modelName\":\"" + name +
                     "\",\"inTensors\":[\"in0\"],\"outTensors\":[\"out0\"],\"internalTensors\":[],"
                     "\"weightTensors\":[\"w0\"],"
                     "\"nodes\":[";
  for (size_t k = 0; k < types.size(); ++k)
    text += (k == 0 ? "" : ",") + std::string("{\"opName\":\"") + types[k] +
            "\",\"inTensors\":[\"in0\",\"w0\"],\"outTensors\":[\"out0\"]}";
  atb_speed::SpeedProbe::ReportModelTopoInfo(name, text + "]}");
}

Operation demo_layer(const std::string& type = "DemoLayer") {
  const Data x = data<float>("0", "float", "2,2", {1, 2, 3, 4});
  const Data w = data<uint16_t>("1", "float16", "2,2", {0x3c00, 0xc000, 0x7c00, 0x0001});
  const Data y = data<uint16_t>("27", "bf16", "2,2", {0x3f80, 0x4000, 0xc040, 0x4080});
  const Data z = data<int8_t>("2", "int8", "2,2", {-128, 127, 3, 0});
  Operation linear{"LinearOperation",
                   R"({"hasBias":false,"transposeB":true})",
                   "MatMulF16Kernel",
                   "MatMulOperation",
                   {x, w},
                   {y},
                   {0, 1},
                   {3}};
  linear.tiling = {1, 2, 3, 4, 5, 6, 7, 8};
  Operation add{"ElewiseOperation", R"({"elewiseType":8})", "AddF16Kernel", "", {y, w}, {z}, {3, 1}, {2}};
  add.is_listed = false;  // as in the fixtures
  return {type, "", "", "", {x, w}, {z}, {}, {}, 1, {linear, add}};
}

void demo() {
  Runner layer = top(demo_layer());
  layer.inside()[0].table_param = R"({"hasBias":false})";
  run(layer, 0);
  report_model("DemoModel", {"DemoLayer"});
}

Operation seeded_layer(int64_t elements, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(elements)), y(x.size()), z(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    y[i] = x[i] * 2;
    z[i] = y[i] + x[i];
  }
  const std::string dims = std::to_string(elements);
  const Data dx = data<float>("0", "float", dims, x), dy = data<float>("0", "float", dims, y),
             dz = data<float>("0", "float", dims, z);
  Operation muls{"ElewiseOperation",
                 R"({"elewiseType":2,"mulsParam":{"varAttr":2.0}})",
                 "MulsKernel",
                 "MulsOperation",
                 {dx},
                 {dy},
                 {0},
                 {2}};
  Operation add{
      "ElewiseOperation", R"({"elewiseType":8})", "AddKernel", "AddOperation", {dy, dx}, {dz}, {2, 0}, {1}};
  return {"SeededLayer", "", "", "", {dx}, {dz}, {}, {}, 1, {muls, add}};
}

void run_model(int64_t rounds, int64_t layers, int64_t elements, int64_t number) {
  std::vector<Runner> model;
  for (int64_t k = 0; k < layers; ++k)
    model.push_back(top(seeded_layer(elements, static_cast<uint32_t>(number * 1000 + k))));
  for (int64_t round = 0; round < rounds; ++round) {
    for (Runner& layer : model) run(layer, round);
    report_model("SeededModel", std::vector<std::string>(static_cast<size_t>(layers), "SeededLayer"));
  }
}

void two_models() {
  Runner first = top(demo_layer("FirstLayer")), lonely = top(demo_layer("LonelyOperation")),
         second = top(demo_layer("SecondLayer"));
  run(lonely, 0);
  run(first, 0);
  run(second, 0);
  report_model("SecondModel", {"SecondLayer"});
  report_model("FirstModel", {"FirstLayer"});
  Runner again = top(demo_layer("FirstLayer"));
  run(again, 0);
  for (int k = 0; k < 3; ++k) report_model("FirstModel", {"FirstLayer"});  // of the same name, once for each
}

void spoil() {
  const float inf = __builtin_inff(), nan = __builtin_nanf("");
  const Data fine = data<float>("0", "float", "2", {1, 2});
  const Data bad = data<uint16_t>("27", "bf16", "2", {0x7f80, 0x3f80});
  const Data worse = data<float>("0", "float", "2", {nan, inf});
  Operation fails{"LinearOperation", "{}", "MatMulKernel", "", {fine}, {bad}, {0}, {2}};
  Operation passes{"ElewiseOperation", "{}", "AddKernel", "", {bad}, {worse}, {2}, {1}};
  Runner layer = top({"SpoiltLayer", "", "", "", {fine}, {worse}, {}, {}, 1, {fails, passes}});
  run(layer, 0);
}

void kernels(int64_t count, int64_t in_a_folder) {
  static_cast<void>(Probe::IsTensorNeedSave({0}, "Op"));  // what the original reads its settings at
  Probe::UpdateConfig();
  const std::vector<float> values(256, 1.5f);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t op = i / in_a_folder;
    Probe::SaveTensor("2", "0", "256", values.data(), 1024,
                      device() + "/" + std::to_string(op / 1000) + "/" + std::to_string(op % 1000) +
                          "_Op/after/outtensor" + std::to_string(i % in_a_folder) + ".bin");
  }
}

// What the originals drop from their tables, or lose behind a name.
void odd() {
  Operation layer = demo_layer();
  Probe::ReportOperationGraph("DemoLayer_0", graph_text(layer, {0}, true));
  const auto save = [](const Data& data, const std::string& place) {
    Probe::SaveTensor(data.format, data.dtype, data.dims, data.bytes.data(), data.bytes.size(),
                      device() + "/0/0_DemoLayer/" + place);
  };
  save(layer.in[0], "before/intensor0_query.bin");  // as the newest ATB names them
  save(layer.in[1], "before/intensor1.bin");
  save(layer.in[0], "0_LinearOperation/before/intensor0.bin");
  save(layer.in[1], "0_LinearOperation/before/intensor1.bin");
  save(data<float>("16", "complex64", "2", {1, -2, 3, 4}), "1_ElewiseOperation/before/intensor0.bin");
  save(data<float>("0", "float", "2", {-__builtin_inff(), 1}), "1_ElewiseOperation/after/outtensor0.bin");
  if (Probe::ReportOperationIOTensorEnable())
    for (const char* param : {"=1+1", "two\nlines"})
      Probe::ReportOperationIOTensor(0, "DemoLayer_0", param, {}, {});
}

void large(int64_t count, int64_t mib) {
  const int64_t elements = mib << 18;
  std::vector<float> values(static_cast<size_t>(elements), 0.25f);
  for (int64_t i = 0; i < count; ++i) {
    values[0] = static_cast<float>(i);
    Probe::SaveTensor("2", "0", std::to_string(elements), values.data(), static_cast<uint64_t>(elements) * 4,
                      device() + "/0/" + std::to_string(i) + "_Op/after/outtensor0.bin");
  }
}

// Answers how many children did not end well.
int fork_busy(int64_t rounds) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t)
    threads.emplace_back([&ends, t] {
      for (int64_t round = 0; !ends; ++round) {
        run_model(1, 2, 256, t * 1000 + round);
        usleep(10'000);  // some hundred files in a second are enough
      }
    });
  int bad = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Runner layer = top(demo_layer());
      run(layer, 0);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bad += status == 0 ? 0 : 1;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  return bad;
}

// What ends in the middle has handed this in before.
void end_in_the_middle(const std::string& how) {
  if (how == "terminates") std::signal(SIGTERM, [](int) { std::exit(3); });
  run_model(1, 4, 100'000, 0);
  if (how == "exits") std::exit(0);
  if (how == "fails") std::exit(1);
  if (how == "throws") throw 1;
  if (how == "terminates") raise(SIGTERM);
}

void queries() {
  // Of this thread: other work on the machine does not count.
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const std::vector<int64_t> ids = {3, 1, 2};
  const std::string type = "LinearOperation",
                    folder = device() + "/7/3_Layer/1_LinearOperation/2_MatMulKernel";
  constexpr int kCount = 2'000'000;
  int64_t yes = 0;
  const auto measure = [&](const char* what, const auto& ask) {
    const double start = now();
    for (int i = 0; i < kCount; ++i) yes += ask() ? 1 : 0;
    const double ns = (now() - start) / kCount;
    std::printf("%s %.1f\n", what, ns);
  };
  measure("IsTensorNeedSave", [&] { return Probe::IsTensorNeedSave(ids, type); });
  measure("IsSaveTensorInSpecificDir", [&] { return Probe::IsSaveTensorInSpecificDir(folder); });
  measure("IsExecuteCountInRange", [&] { return Probe::IsExecuteCountInRange(7); });
  measure("UpdateConfig", [&] { return Probe::UpdateConfig(), false; });
  std::printf("yes %lld\n", static_cast<long long>(yes));
}

// Runs rounds while a test edits the configuration; each says whether it saved.
void hot() {
  Runner layer = top(demo_layer());
  char line[256];
  for (int64_t round = 0; std::fgets(line, sizeof line, stdin) != nullptr; ++round) {
    run(layer, round);
    std::printf("%lld %d\n", static_cast<long long>(round),
                Probe::IsSaveTensorInSpecificDir(device() + "/0/0_DemoLayer") ? 1 : 0);
    std::fflush(stdout);
  }
}

int64_t number(int count, char** words, int at, int64_t otherwise) {
  return at < count ? std::atoll(words[at]) : otherwise;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "demo";
  if (what == "demo") demo();
  if (what == "run") {
    const int64_t rounds = number(count, words, 2, 1), layers = number(count, words, 3, 2),
                  elements = number(count, words, 4, 64);
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < number(count, words, 5, 1); ++t)
      threads.emplace_back([=] { run_model(rounds, layers, elements, t); });
    for (std::thread& thread : threads) thread.join();
  }
  if (what == "two-models") two_models();
  if (what == "second-save") {
    Runner layer = top(demo_layer());
    run(layer, 0);
    run(layer, 0);
  }
  if (what == "fork") {
    Runner layer = top(demo_layer());
    run(layer, 0);
    const pid_t child = fork();
    run(layer, 1);
    if (child == 0) std::exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%d %d\n", static_cast<int>(child), status);
  }
  if (what == "leave-child") {  // one that records and goes on, until the file "ends" is gone
    std::fclose(std::fopen("ends", "w"));
    if (fork() == 0) {
      for (const int stream : {0, 1, 2}) close(stream);
      Runner layer = top(demo_layer());
      run(layer, 0);
      for (int i = 0; i < 1200 && access("ends", F_OK) == 0; ++i) usleep(50'000);
      return 0;
    }
    usleep(500'000);
  }
  if (what == "spoilt-twice") {
    spoil();
    std::printf("went on\n");
    spoil();
  }
  if (what == "exits" || what == "fails" || what == "throws" || what == "terminates") end_in_the_middle(what);
  if (what == "becomes") {
    run_model(1, 4, 4096, 0);
    execl("/proc/self/exe", "atb_host", "demo", static_cast<char*>(nullptr));
    return 1;
  }
  if (what == "large") large(number(count, words, 2, 1), number(count, words, 3, 64));
  if (what == "fork-busy") std::printf("%d\n", fork_busy(number(count, words, 2, 10)));
  if (what == "endless")
    for (int64_t round = 0;; ++round) run_model(1, 4, 4096, round);
  if (what == "spoilt") spoil();
  if (what == "odd") odd();
  if (what == "kernels") kernels(number(count, words, 2, 1000), number(count, words, 3, 1));
  if (what == "queries") queries();
  if (what == "hot") hot();
  std::printf("%d\n", static_cast<int>(getpid()));
  return 0;
}
