#include "assay/report/page/document.h"

#include "assay/report/cells.h"
#include "assay/report/page/bundle.h"
#include "assay/report/page/embedded.h"

#include <fmt/format.h>

namespace assay {

std::string page_policy(bool asks_server) {
  const PageBundle& bundle = page_bundle();
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:;{} base-uri 'none'; "
      "form-action 'none'",
      base64_of_hex(bundle.script_sha256), base64_of_hex(bundle.style_sha256),
      asks_server ? " connect-src 'self';" : "");
}

std::string page_document(const PageParts& parts) {
  const PageBundle& bundle = page_bundle();
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"";
  text += page_policy(parts.asks_server);
  text +=
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>";
  append_xml_text(text, parts.title);
  text += "</title>\n<style>";
  text += bundle.style;
  text += "</style>\n</head>\n<body>\n<div id=\"still\">\n" + parts.still;
  text += "</div>\n<div id=\"app\"></div>\n<script type=\"application/json\" id=\"run\">";
  text += json_in_html(parts.run);
  text += "</script>\n<script type=\"text/plain\" id=\"rows\">";
  text += parts.rows;
  text += "</script>\n<script type=\"text/plain\" id=\"details\">";
  text += parts.details;
  text += "</script>\n<script>";
  text += bundle.script;
  return text + "</script>\n</body>\n</html>\n";
}

}  // namespace assay
