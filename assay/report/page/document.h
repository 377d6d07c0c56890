// The HTML around the data of a page.
#pragma once

#include <string>
#include <string_view>

namespace assay {

struct PageParts {
  std::string title;
  std::string still;               // HTML: what can be read without a script
  std::string run;                 // JSON
  std::string_view rows, details;  // packed; empty where a server has them
  bool asks_server = false;        // the page may ask where it came from, and nobody else
};
std::string page_document(const PageParts& parts);
std::string page_policy(bool asks_server);  // the Content-Security-Policy

}  // namespace assay
