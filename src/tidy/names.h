// Which functions a header declares, and which words the rest of the tree says: together they tell
// of functions that nothing calls. And what classes hold. Goes by our layout: what a file declares
// outside of bodies begins a line or is indented by one step, bodies are indented, and the names of
// a class's members end in an underscore.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tessera::tidy {

struct File;

struct DeclaredName {
  std::string name{};
  std::size_t line = 0;  // From zero.
};

// Functions that a header declares, or defines in place.
std::vector<DeclaredName> functions_declared(const File& file);

// Words of a C++ file's code that can be calls: in a source those of indented lines, in a header
// all but the names it declares where it declares them.
std::set<std::string> words_said(const File& file);

// Types that a header defines for all: those that begin a line.
std::vector<DeclaredName> types_defined(const File& file);

// What a C++ file gives a meaning of its own: types, also those of other libraries that it names
// shortly, parameters of templates, functions.
std::set<std::string> names_given(const File& file);

struct ClassMembers {
  std::size_t line = 0;  // Where the class begins, from zero.
  std::set<std::string> names{};
};
std::vector<ClassMembers> classes_of(const File& file);

}  // namespace tessera::tidy
