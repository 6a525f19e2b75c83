# Run by the build: puts the pages together and writes them as C++, byte by byte, to OUT.
# WEB: the folder with the pages' files.

# NAME.html with the styles and scripts that are named, in the order in which they build on each other; its bytes to `out`.
function(embed name styles scripts out)
  file(READ ${WEB}/${name}.html page)
  set(style "")
  set(script "")
  foreach(part IN LISTS styles)
    file(READ ${WEB}/${part}.css text)
    string(APPEND style "${text}\n")
  endforeach()
  foreach(part IN LISTS scripts)
    file(READ ${WEB}/${part}.js text)
    string(APPEND script "${text}\n")
  endforeach()
  foreach(part style script)
    string(REPLACE "{{${part}}}" "${${part}}" page "${page}")
  endforeach()
  file(WRITE ${OUT}.${name}.html "${page}")
  file(READ ${OUT}.${name}.html bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  set(${out} "${bytes}" PARENT_SCOPE)
endfunction()

embed(page page "format;theme;model;ticks;frame;svg;plot;reader;lines;bars;target;graph;heat;table;main" page)
embed(fleet "page;fleet" "format;theme;fleet" fleet)
file(WRITE ${OUT} "// Written by web/embed.cmake.
#include \"report/page_assets.h\"

namespace tessera {
namespace {
constexpr unsigned char kPage[] = {
${page}
0};
constexpr unsigned char kFleet[] = {
${fleet}
0};
}  // namespace

std::string_view page_template() {
  return {reinterpret_cast<const char*>(kPage), sizeof kPage - 1};
}

std::string_view fleet_page() {
  return {reinterpret_cast<const char*>(kFleet), sizeof kFleet - 1};
}

}  // namespace tessera
")
