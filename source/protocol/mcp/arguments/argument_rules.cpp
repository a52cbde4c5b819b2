#include "mcp/arguments/argument_rules.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/arguments/lenient_arguments.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace cmcp {

namespace {

// Arguments of one meaning, in the names that tools of this kind have: lower case, without "_" and "-".
struct meaning {
    std::string_view names;
    std::string_view advice;
    bool false_counts = false;  // also where it is false
};

constexpr std::array meanings{
    meaning{"sandboxid sandbox sandboxname container containerid containername box vm vmid workspace workspaceid",
            "execute_terminal_command and execute_python_code run in a sandbox, and the file tools take sandbox_id"},
    meaning{"workdir workingdir workingdirectory currentdir currentdirectory cwd chdir root rootdir rootpath basedir "
            "basepath basefolder dir directory folder path filepath filename file target destpath destination "
            "outputpath outputdir",
            "put the folder into the path, or begin the command with cd"},
    meaning{"dryrun dry preview previewonly simulate simulation whatif noop noaction checkonly validateonly testonly",
            "there is no trial run"},
    meaning{"recursive recurse depth maxdepth mindepth", "it acts on what is named and on nothing else"},
    meaning{"include exclude ignore filter filters only match pattern glob globs", "name what is meant by its path"},
    meaning{
        "append appendmode mode insert insertat insertline position offset line startline endline linestart lineend "
        "linerange range",
        "file_edit changes a part of a file"},
    meaning{"overwrite replace replaceexisting force clobber", "look first whether there is something already", true},
    meaning{"noclobber nooverwrite createonly exclusive ifnotexists skipexisting failifexists backup keepbackup "
            "keeporiginal",
            "look first whether there is something already"},
    meaning{"readonly nonetwork networkdisabled disablenetwork", "the settings of the sandbox decide"},
};

std::string plain_name(std::string_view name)
{
    std::string plain = lower_case(name);
    std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
    return plain;
}

std::unordered_map<std::string_view, const meaning*> meanings_by_name()
{
    std::unordered_map<std::string_view, const meaning*> all;
    for (const auto& each : meanings)
        for (const auto name : split(each.names, ' ')) all.emplace(name, &each);
    return all;
}

const meaning* meaning_of(std::string_view name)
{
    static const auto by_name = meanings_by_name();
    constexpr std::size_t longest = 40;  // with room for "_" and "-"
    if (name.size() > longest) return nullptr;
    const auto known = by_name.find(plain_name(name));
    return known == by_name.end() ? nullptr : known->second;
}

// A mode of opening: "w" is what happens anyway.
bool adds_or_keeps(std::string_view mode)
{
    return !mode.empty() && std::string_view("aAxX").find(mode.front()) != std::string_view::npos;
}

bool says_something(std::string_view name, const json::value& value, const meaning& of)
{
    const auto* text = value.if_string();
    if (text != nullptr && plain_name(name) == "mode") return adds_or_keeps(std::string_view(*text));
    if (text != nullptr && (equal_ignoring_case(*text, "true") || equal_ignoring_case(*text, "false")))
        return equal_ignoring_case(*text, "false") == of.false_counts;
    if (value.is_bool()) return value.get_bool() != of.false_counts;
    const auto* number = value.if_int64();
    return !jsonrpc::is_absent(value, json::kind::double_) && (number == nullptr || *number != 0);
}

// The tool's own argument of the same meaning.
std::string own_argument(const json::object& schema, const meaning& of)
{
    for (const auto& [name, property] : object_of(schema, "properties"))
        if (meaning_of(name) == &of) return std::string(name);
    return {};
}

// A sentence where arguments that the schema does not name would have changed what the tool acts on, or how much it
// changes: without them it would do another thing than its caller means. Empty where there are none.
std::string dropped_arguments(const json::object& arguments, const json::object& schema)
{
    if (unknown_arguments(arguments, schema, 1).empty()) return {};
    const auto& known = object_of(schema, "properties");
    for (const auto& [name, value] : arguments) {
        if (value.is_null() || known.contains(name)) continue;
        const auto* of = meaning_of(name);
        if (of == nullptr || !says_something(name, value, *of)) continue;
        const auto own = own_argument(schema, *of);
        return "argument `" + std::string(name) +
               "` is not known here, and nothing was done because it would have been left out: " +
               (own.empty() ? std::string(of->advice) : "use `" + own + "`");
    }
    return {};
}

// A sentence of the validator begins with: argument `name` or argument `name[2].member`.
std::string_view argument_in(std::string_view sentence)
{
    const auto begin = sentence.find('`');
    if (begin == std::string_view::npos) return {};
    const auto name = sentence.substr(begin + 1);
    return name.substr(0, name.find_first_of(".[`"));
}

std::string with_advice(std::string misfit, const json::object& schema, const json::object& arguments)
{
    constexpr std::size_t most_named = 5;
    for (const auto& name : unknown_arguments(arguments, schema, most_named))
        misfit += "; `" + name.substr(0, 100) + "` is not known";
    const auto example = example_arguments(schema, argument_in(misfit));
    if (!example.empty()) misfit += "; for example: " + jsonrpc::write_json(example);
    return misfit;
}

}  // namespace

argument_rules::argument_rules(const tool_definition& of)
    : schema_(of.input_schema), validator_(open_schema(of.input_schema)), read_only_(of.annotations.read_only)
{
}

std::string argument_rules::validate(json::object& arguments) const
{
    take_as_meant(arguments, schema_);
    return judged(arguments, validator_.check(arguments));
}

std::string argument_rules::validate_anywhere(json::object& arguments) const
{
    take_as_meant(arguments, schema_);
    return judged(arguments, validator_.check_anywhere(arguments));
}

std::string argument_rules::judged(json::object& arguments, std::string misfit) const
{
    if (!misfit.empty()) return with_advice(std::move(misfit), schema_, arguments);
    return read_only_ ? std::string() : dropped_arguments(arguments, schema_);
}

std::vector<std::string> argument_rules::take_out_unknown(json::object& arguments) const
{
    return cmcp::take_out_unknown(arguments, schema_, most_unknown_listed);
}

}  // namespace cmcp
