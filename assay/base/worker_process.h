// A program that works for us and answers: bytes to it, lines from it, through one socket. Whatever it does,
// a call ends: when it ends, when the patience is over, when we are cancelled.
#pragma once

#include "assay/base/bytes.h"
#include "assay/base/result.h"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace assay {

class WorkerProcess {
 public:
  // Words as they stand, no shell; the first is looked up in PATH. The socket is its standard input and
  // output at once; what it prints on its standard error goes where ours goes.
  static Result<WorkerProcess> start(const std::vector<std::string>& words);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();  // kills it

  using Deadline = std::chrono::steady_clock::time_point;
  Result<void> send(Bytes bytes, Deadline deadline);
  // Without its end; a line of more than a MiB is refused.
  Result<std::string> receive_line(Deadline deadline);
  // After an error: how it ended ("signal 11", "status 1"), or nothing where it had to be killed.
  std::string end();

 private:
  WorkerProcess(pid_t child, int socket) : child_(child), socket_(socket) {}
  Result<void> wait_for(short events, Deadline deadline) const;
  pid_t child_ = -1;
  int socket_ = -1;
  std::string received_;
};

}  // namespace assay
