// Runs without ranks may write a folder per process; a process is then a part of the run: "process 4711", or
// "process 4711 debug".
#pragma once

#include "assay/model/dump.h"

namespace assay {

std::string process_part(int number, std::string_view rest);
int process_of(const At& at);                        // its number; -1 where the part is none
std::string_view part_within_process(const At& at);  // "debug"; all of the part where it is no process

}  // namespace assay
