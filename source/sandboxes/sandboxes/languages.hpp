#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// How code of one language is run: one row of the table.
struct language {
    std::string_view name;      ///< "c++"
    std::string_view aliases;   ///< further names, separated by spaces
    std::string_view programs;  ///< programs that may run it, the preferred first, separated by spaces
    std::string_view file;      ///< the name of the code's file, in a folder of its own
    /// Shell text; $P is the program, $F the file; the working folder is the sandbox's. Python runs another way: empty.
    std::string_view command;
    std::string_view sample;  ///< a program that prints "ok"
};

/// Every language that is known, in the order of the documents.
const std::vector<language>& all_languages();

/// By name or alias, whatever the case; null when it is unknown.
const language* find_language(std::string_view name);

/// Those of its programs that this machine has, as absolute paths inside the sandbox, and the first of them or nothing.
std::vector<std::string> installed_programs(const language& of);
std::string installed_program(const language& of);

/// Shell text that reads the code from descriptor 3 and runs it by `program`, a path inside.
std::string language_script(const language& of, const std::string& program);

}  // namespace cmcp
