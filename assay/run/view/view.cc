#include "assay/run/view/view.h"

#include "assay/base/cancel.h"
#include "assay/base/console.h"
#include "assay/base/path_kind.h"
#include "assay/report/cells.h"
#include "assay/report/page/document.h"
#include "assay/report/page/live_rows.h"
#include "assay/report/page/page_file.h"
#include "assay/report/page/page_rows.h"
#include "assay/report/page/stored.h"
#include "assay/run/view/browser.h"
#include "assay/run/view/http.h"
#include "assay/run/view/tensor_detail.h"
#include "assay/support/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

namespace assay {
namespace {

constexpr std::string_view kJson = "application/json; charset=utf-8";
constexpr int64_t kMostAtOnce = kMostPageRows;
constexpr int64_t kUsualCount = 1000;

int64_t number_in(std::string_view text, int64_t otherwise) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : otherwise;
}

int dimension_in(std::string_view text) {
  const int64_t dimension = number_in(text, -1);
  return dimension < 1000 ? static_cast<int>(dimension) : -1;
}

std::vector<std::string> parts(std::string_view text, char separator) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    if (!part.empty()) all.emplace_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return all;
}

// Words to look for, or a condition as --rule takes it.
Result<void> choose_text(std::string_view text, StoredQuery& query) {
  if (text.find_first_of("<>=") == std::string_view::npos) {
    query.words = parts(text, ' ');
    return {};
  }
  ASSAY_TRY(Expression condition, Expression::parse(text));
  query.condition_columns = condition.names();
  query.holds = [condition = std::move(condition)](const StoredLook& look) {
    return condition.holds(&look, [](const void* context, std::string_view name) {
      return (*static_cast<const StoredLook*>(context))(name);
    });
  };
  return {};
}

// What the page shows: a report that lies there, or rows that are still being measured.
class Session {
 public:
  // Its dumps, and how tensors are looked at.
  explicit Session(CompareRequest compare) : compare_(std::move(compare)) {}

  LiveRows& live() { return live_; }
  void store(std::shared_ptr<const StoredReport> report) {
    const std::lock_guard lock(guard_);
    stored_ = std::move(report);
  }

  void answer(const HttpRequest& request, HttpReply& reply) const {
    if (request.path == "/") return send_page(reply);
    if (request.path == "/api/run") return send_run(reply);
    if (request.path == "/api/rows") return send_rows(request, reply);
    if (request.path == "/api/detail") return send_detail(request, reply);
    reply.send(404, "text/plain; charset=utf-8", "there is no such thing here\n");
  }

 private:
  std::shared_ptr<const StoredReport> stored() const {
    const std::lock_guard lock(guard_);
    return stored_;
  }

  static void refuse(HttpReply& reply, int status, const std::string& why) {
    std::string body = "{\"error\": ";
    append_json_text(body, why);
    reply.send(status, kJson, body + "}\n");
  }

  static void send_page(HttpReply& reply) {
    const std::string page =
        page_document({.title = "assay",
                       .still = "<noscript><p>This page needs JavaScript.</p></noscript>",
                       .run = "{\"page\": {\"live\": true}}",
                       .rows = {},
                       .details = {},
                       .asks_server = true});
    reply.send(200, "text/html; charset=utf-8", page, page_policy(true));
  }

  void send_run(HttpReply& reply) const {
    const auto report = stored();
    const std::string run = report ? report->run_json() : live_.run_json();
    reply.send(200, kJson,
               fmt::format("{{\"done\": {}, \"rows\": {}, \"data\": {}}}\n", report != nullptr,
                           report ? report->rows() : live_.count(), run.empty() ? "null" : run));
  }

  void send_rows(const HttpRequest& request, HttpReply& reply) const {
    const auto report = stored();
    const bool as_page = request.parameter("choice") == "page";
    if (!report) {
      const StoredRows rows = live_.chosen();
      return reply.send(200, kJson, fmt::format("{{\"total\": {}, \"rows\": {}}}\n", rows.total, rows.json));
    }
    StoredQuery query;
    query.verdicts = parts(request.parameter("verdict"), ',');
    if (request.query.contains("section")) query.section = std::string(request.parameter("section"));
    query.dtype = request.parameter("dtype");
    query.port = request.parameter("port");
    query.sort = request.parameter("sort");
    query.is_descending = request.parameter("down") == "1";
    query.from = number_in(request.parameter("from"), 0);
    query.count =
        std::min(number_in(request.parameter("count"), as_page ? kMostAtOnce : kUsualCount), kMostAtOnce);
    if (as_page && report->rows() > kMostAtOnce) query.every = 2 * report->rows() / kMostAtOnce + 1;
    if (auto chosen = choose_text(request.parameter("text"), query); !chosen)
      return refuse(reply, 400, chosen.error().message);
    const auto rows = report->find(query);
    if (!rows) return refuse(reply, 500, rows.error().message);
    reply.send(200, kJson, fmt::format("{{\"total\": {}, \"rows\": {}}}\n", rows->total, rows->json));
  }

  void send_detail(const HttpRequest& request, HttpReply& reply) const {
    const auto report = stored();
    const int64_t id = number_in(request.parameter("id"), -1);
    const auto pair = report ? report->pair(id) : live_.pair(id);
    if (!pair) return refuse(reply, 404, pair.error().message);
    CompareRequest compare = compare_;
    compare.detail_options = {.map_rows = dimension_in(request.parameter("rows")),
                              .map_columns = dimension_in(request.parameter("columns"))};
    reply.start_lines();
    const auto detail = tensor_detail(
        compare, *pair, [&](double share) { reply.line(fmt::format("{{\"progress\": {:.3f}}}", share)); },
        [&] { return reply.is_gone(); });
    std::string line = "{\"error\": ";
    if (!detail) append_json_text(line, detail.error().message);
    reply.line(detail ? "{\"detail\": " + *detail + "}" : line + "}");
  }

  const CompareRequest compare_;
  LiveRows live_;
  mutable std::mutex guard_;
  std::shared_ptr<const StoredReport> stored_;
};

// The newest in the folder; a database rather than a page, since it holds all rows.
Result<fs::path> find_report(const fs::path& path) {
  if (!is_folder(path)) return path;
  for (const std::string_view suffix : {".db", ".html"}) {
    fs::path newest;
    fs::file_time_type when;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() != suffix || !is_file(entry.path())) continue;
      const fs::file_time_type changed = entry.last_write_time(error);
      if (!newest.empty() && changed <= when) continue;
      newest = entry.path();
      when = changed;
    }
    if (!newest.empty()) return newest;
  }
  return fail(
      ErrorKind::not_found,
      "{}: holds no report in a database (.db) and no page (.html); --report sqlite or html writes one",
      display(path));
}

Result<std::optional<TemporaryFolder>> tell(const HttpServer& server, bool opens_browser) {
  console::print("The page is at {}\nCtrl-C ends it.\n", server.address());
  ASSAY_TRY_DO(console::flush());
  return opens_browser ? open_browser(server.address()) : std::nullopt;
}

Result<std::unique_ptr<HttpServer>> serve(const ViewRequest& request, const Session& session) {
  return HttpServer::open(request.port,
                          [&](const HttpRequest& asked, HttpReply& reply) { session.answer(asked, reply); });
}

// Compares while the page is looked at, into a database that goes with us.
Result<void> view_dumps(const ViewRequest& request, const CompareRequest& dumps) {
  Session session(dumps);
  ASSAY_TRY(const std::unique_ptr<HttpServer> server, serve(request, session));
  ASSAY_TRY(const auto opened, tell(*server, request.opens_browser));
  ASSAY_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  ReportSet reports;
  reports.add(find_output("sqlite")->open({.folder = folder.path()}));
  reports.add(session.live().sink());
  std::thread serving([&] { server->serve(); });
  auto compared = compare(dumps, reports);
  Result<void> outcome;
  if (compared && !compared->files.empty()) {
    auto report = StoredReport::open(compared->files.front());
    if (report)
      session.store(std::move(*report));
    else
      outcome = tl::unexpected(report.error());
  } else if (!compared && compared.error().kind != ErrorKind::cancelled) {
    outcome = tl::unexpected(compared.error());
  }
  if (!outcome) server->stop();
  serving.join();
  return outcome;
}

// Tensors are read and paired as they were for the report. The command of another tool says nothing to us.
CompareRequest as_reported(const ViewRequest& request, const std::string& command, const fs::path& mine,
                           const fs::path& golden) {
  CompareRequest compare = request.compare;
  if (request.pair_as)
    if (const auto paired = request.pair_as(command, compare); !paired) {
      compare = request.compare;
      log::debug("{}", paired.error().message);
    }
  compare.mine = mine;
  compare.golden = golden;
  return compare;
}

Result<void> view_stored(const ViewRequest& request, const fs::path& database) {
  ASSAY_TRY(std::shared_ptr<const StoredReport> report, StoredReport::open(database));
  Session session(
      as_reported(request, report->fact("command"), report->fact("mine"), report->fact("golden")));
  session.store(std::move(report));
  ASSAY_TRY(const std::unique_ptr<HttpServer> server, serve(request, session));
  ASSAY_TRY(const auto opened, tell(*server, request.opens_browser));
  server->serve();
  return {};
}

}  // namespace

Result<void> view(const ViewRequest& request) {
  if (request.report.empty()) return view_dumps(request, request.compare);
  ASSAY_TRY(const fs::path path, find_report(request.report));
  if (path.extension() != ".html") return view_stored(request, path);
  ASSAY_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const fs::path database = folder.path() / "page.db";
  ASSAY_TRY(const PageFile page, store_page(path, database));
  if (page.holds_all) return view_stored(request, database);
  log::info("{}: holds a part of its report: the dumps are compared again", display(path));
  return view_dumps(request, as_reported(request, page.command, page.mine, page.golden));
}

}  // namespace assay
