// A server for one page on this machine: GET alone, on the loopback address alone, one thread for each of a
// few connections. Not a library's: what Debian has (cpp-httplib) brings OpenSSL into every start of the
// program.
#pragma once

#include "assay/base/result.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace assay {

struct HttpRequest {
  std::string path;                          // without the token: "/", "/api/rows"
  std::map<std::string, std::string> query;  // decoded
  std::string_view parameter(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view() : std::string_view(found->second);
  }
};

// What an answer is written to.
class HttpReply {
 public:
  // Ends with the server, whose `stopped` outlives this.
  HttpReply(int socket, const std::atomic<bool>& stopped) : socket_(socket), stopped_(stopped) {}
  void send(int status, std::string_view type, std::string_view body, std::string_view policy = {});
  // Lines as they come, until the connection is closed.
  void start_lines();
  void line(std::string_view text);
  bool is_gone() const;  // nobody waits for it any more

 private:
  void write(std::string_view text);
  int socket_;
  const std::atomic<bool>& stopped_;
  std::atomic<bool> has_failed_{false};
};

// Answers from several threads at once.
using HttpAnswer = std::function<void(const HttpRequest& request, HttpReply& reply)>;

class HttpServer {
 public:
  // port 0: any that is free
  static Result<std::unique_ptr<HttpServer>> open(int port, HttpAnswer answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string address() const;  // "http://127.0.0.1:8100/3f…/"
  void serve();                 // until stop(), or Ctrl-C
  void stop() { stopped_ = true; }

 private:
  HttpServer(int socket, int port, std::string token, HttpAnswer answer)
      : socket_(socket), port_(port), token_(std::move(token)), answer_(std::move(answer)) {}
  void handle(int connection);
  bool may_ask(const std::map<std::string, std::string>& headers) const;

  const int socket_, port_;
  const std::string token_;
  const HttpAnswer answer_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> running_{0};
};

}  // namespace assay
