# Run by the build: puts the page together and writes it as C++, byte by byte, to OUT.
# WEB: the folder with the page's files.

# In the order in which they build on each other.
set(scripts format theme model ticks frame svg plot reader lines bars target graph heat table main)

file(READ ${WEB}/page.html page)
set(script "")
foreach(name IN LISTS scripts)
  file(READ ${WEB}/${name}.js text)
  string(APPEND script "${text}\n")
endforeach()
file(READ ${WEB}/page.css style)
foreach(part style script)
  string(REPLACE "{{${part}}}" "${${part}}" page "${page}")
endforeach()
file(WRITE ${OUT}.html "${page}")

file(READ ${OUT}.html bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "// Written by web/embed.cmake.
#include \"report/page_assets.h\"

namespace tessera {
namespace {
constexpr unsigned char kPage[] = {
${bytes}
0};
}  // namespace

std::string_view page_template() {
  return {reinterpret_cast<const char*>(kPage), sizeof kPage - 1};
}

}  // namespace tessera
")
