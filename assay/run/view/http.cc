#include "assay/run/view/http.h"

#include "assay/base/cancel.h"
#include "assay/base/system_message.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

namespace assay {
namespace {

constexpr int kMostConnections = 16;
constexpr size_t kMostHeader = 16 * 1024;
constexpr int kPatience = 10'000;  // milliseconds for the header of a request, and until an answer is taken
constexpr int kTick = 200;         // how often it is looked whether to go on
constexpr auto kUntilOneEnds = std::chrono::milliseconds(20);
constexpr size_t kTokenBytes = 16;

tl::unexpected<Error> no_socket(std::string_view what) {
  return fail(ErrorKind::io, "no page can be served: {}: {}", what, system_message(errno));
}

Result<std::string> fresh_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return no_socket("no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Takes as long whatever the first difference.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char apart = 0;
  for (size_t i = 0; i < a.size(); ++i) apart = static_cast<unsigned char>(apart | (a[i] ^ b[i]));
  return apart == 0;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::string unescaped(std::string_view text) {
  std::string out;
  const auto digit = [](char c) -> int {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::map<std::string, std::string> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = std::min(part.find('='), part.size());
    query[unescaped(part.substr(0, equals))] = unescaped(part.substr(std::min(part.size(), equals + 1)));
  }
  return query;
}

// Up to the empty line; nothing if it does not come, or does not end.
std::optional<std::string> read_header(int connection, const std::atomic<bool>& stopped) {
  std::string header;
  std::array<char, 4096> block{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
  while (header.find("\r\n\r\n") == std::string::npos) {
    const bool is_late = std::chrono::steady_clock::now() > end;
    if (header.size() > kMostHeader || is_late || stopped || cancelled()) return std::nullopt;
    pollfd watched{connection, POLLIN, 0};
    if (::poll(&watched, 1, kTick) <= 0) continue;
    const ssize_t got = ::recv(connection, block.data(), block.size(), 0);
    if (got <= 0) return std::nullopt;
    header.append(block.data(), static_cast<size_t>(got));
  }
  return header;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Internal Server Error";
  }
}

std::string head_of(int status, std::string_view type, std::string_view policy) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n"
      "Connection: close\r\n",
      status, reason_of(status), type);
  if (!policy.empty()) head += fmt::format("Content-Security-Policy: {}\r\n", policy);
  return head;
}

}  // namespace

void HttpReply::write(std::string_view text) {
  int waited = 0;
  while (!text.empty() && !has_failed_ && waited < kPatience && !stopped_ && !cancelled()) {
    pollfd watched{socket_, POLLOUT, 0};
    if (::poll(&watched, 1, kTick) <= 0) {
      waited += kTick;
      continue;
    }
    const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) break;
    waited = 0;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  if (!text.empty()) has_failed_ = true;
}

void HttpReply::send(int status, std::string_view type, std::string_view body, std::string_view policy) {
  write(head_of(status, type, policy) + fmt::format("Content-Length: {}\r\n\r\n", body.size()));
  write(body);
}

void HttpReply::start_lines() { write(head_of(200, "application/x-ndjson; charset=utf-8", {}) + "\r\n"); }
void HttpReply::line(std::string_view text) { write(std::string(text) + '\n'); }

bool HttpReply::is_gone() const {
  if (has_failed_) return true;
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(int port, HttpAnswer answer) {
  ASSAY_TRY(std::string token, fresh_token());
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return no_socket("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket, kMostConnections) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    auto trouble = no_socket(fmt::format("port {}", port));
    ::close(socket);
    return trouble;
  }
  return std::unique_ptr<HttpServer>(
      new HttpServer(socket, ntohs(address.sin_port), std::move(token), std::move(answer)));
}

HttpServer::~HttpServer() {
  stopped_ = true;
  while (running_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::close(socket_);
}

std::string HttpServer::address() const { return fmt::format("http://127.0.0.1:{}/{}/", port_, token_); }

void HttpServer::serve() {
  while (!stopped_ && !cancelled()) {
    if (running_ >= kMostConnections) {  // who comes now waits in the queue of the kernel
      std::this_thread::sleep_for(kUntilOneEnds);
      continue;
    }
    pollfd watched{socket_, POLLIN, 0};
    if (::poll(&watched, 1, kTick) <= 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    ++running_;
    std::thread([this, connection] {
      handle(connection);
      ::close(connection);
      --running_;
    }).detach();
  }
}

// A page of somebody else's that names this address, or a name that leads to it, is none of ours.
bool HttpServer::may_ask(const std::map<std::string, std::string>& headers) const {
  const std::array<std::string, 2> hosts = {fmt::format("127.0.0.1:{}", port_),
                                            fmt::format("localhost:{}", port_)};
  const auto host = headers.find("host");
  if (host == headers.end() || std::ranges::find(hosts, host->second) == hosts.end()) return false;
  const auto origin = headers.find("origin");
  return origin == headers.end() || origin->second == "http://" + host->second;
}

void HttpServer::handle(int connection) {
  HttpReply reply(connection, stopped_);
  const auto refuse = [&](int status, std::string_view why) {
    reply.send(status, "text/plain; charset=utf-8", why);
  };
  const std::optional<std::string> header = read_header(connection, stopped_);
  if (!header) return;
  std::string_view rest(*header);
  const auto next_line = [&] {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    return line;
  };
  const std::string_view first = next_line();
  const size_t blank = std::min(first.find(' '), first.size());
  const std::string_view method = first.substr(0, blank);
  std::string_view target = first.substr(std::min(first.size(), blank + 1));
  target = target.substr(0, target.find(' '));
  std::map<std::string, std::string> headers;
  for (std::string_view line = next_line(); !line.empty(); line = next_line()) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return refuse(400, "not understood\n");
    headers[lower(line.substr(0, colon))] = std::string(trimmed(line.substr(colon + 1)));
  }
  if (!may_ask(headers)) return refuse(403, "not for you\n");
  if (method != "GET") return refuse(405, "GET only\n");
  const size_t question = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, question);
  if (path.size() < token_.size() + 2 || path.front() != '/' ||
      !same(path.substr(1, token_.size()), token_) || path[token_.size() + 1] != '/')
    return refuse(403, "the address lacks its token\n");
  HttpRequest request{std::string(path.substr(token_.size() + 1)),
                      parse_query(target.substr(std::min(target.size(), question + 1)))};
  try {
    answer_(request, reply);
  } catch (const std::bad_alloc&) {
    refuse(500, "out of memory\n");
  }
}

}  // namespace assay
