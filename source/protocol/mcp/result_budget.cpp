#include "mcp/result_budget.hpp"

#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/arguments/lenient_arguments.hpp"
#include "mcp/result_text.hpp"
#include "text/cut_text.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

using jsonrpc::json_size;

constexpr std::size_t room_for_facts = 2048;  // beside what a caller asks for
constexpr std::size_t room_for_note = 1024;   // what shorten() adds
constexpr std::size_t size_of_mark = 160;     // the line in brackets
constexpr std::size_t dictionary = 32;        // an object with more members is shortened as a list is
constexpr std::size_t least_share = 8;
constexpr std::size_t longest_note = 400;

constexpr std::array<std::string_view, 3> streams{"stdout", "stderr", "output"};

// The members of a result are described by schemas: nothing is taken out, and a list stays a list.
class shortener {
public:
    explicit shortener(std::string where) : where_(std::move(where)) {}

    // Members that are shorter than an equal share leave the rest of it to the others.
    void fit_members(json::object& object, std::size_t target)
    {
        std::size_t share = share_of(object, target);
        while (json_size(object) > target && share > least_share) {
            for (auto& member : object) fit(member.value(), share, member.key());
            share -= share / 4;
        }
    }

    const std::string& notes() const { return notes_; }

private:
    static std::size_t share_of(const json::object& object, std::size_t target)
    {
        std::vector<std::size_t> sizes;
        for (const auto& member : object) sizes.push_back(json_size(member.value()));
        std::sort(sizes.begin(), sizes.end());
        const auto names = json_size(object) - std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        std::size_t room = target - std::min(target, names), left = sizes.size();
        for (const auto size : sizes) {
            if (size > room / left) return room / left;
            room -= size;
            --left;
        }
        return target;
    }

    void fit(json::value& value, std::size_t target, std::string_view name)
    {
        if (json_size(value) <= target) return;
        if (value.is_string())
            value = fitting(value.get_string(), target);
        else if (value.is_array())
            fit_list(value.get_array(), target, name);
        else if (value.is_object())
            fit_object(value.get_object(), target, name);
    }

    // A character of a text is up to six of JSON.
    std::string fitting(std::string_view text, std::size_t target) const
    {
        std::size_t most = target > size_of_mark ? target - size_of_mark : 0;
        for (;;) {
            auto cut = without_middle(text, most);
            if (cut.where.empty()) cut.where = where_;
            if (most == 0) cut.where.clear();
            auto shown = written(cut);
            const auto size = json_size(shown);
            if (size <= target || most == 0) return shown;
            most = std::min(most - 1, most * target / size);
        }
    }

    void fit_list(json::array& list, std::size_t target, std::string_view name)
    {
        const auto all = list.size();
        if (!list.empty() && json_size(list.front()) > target / 2) fit(list.front(), target / 2, name);
        std::size_t size = 2, fitting = 0;
        while (fitting < all && (size += json_size(list[fitting]) + 1) <= target) ++fitting;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(fitting), list.end());
        note(name, fitting, all);
    }

    void fit_object(json::object& object, std::size_t target, std::string_view name)
    {
        if (object.size() <= dictionary) fit_members(object, target);
        if (json_size(object) > target) fit_dictionary(object, target, name);
    }

    void fit_dictionary(json::object& members, std::size_t target, std::string_view name)
    {
        const auto all = members.size();
        json::object fitting(members.storage());
        std::size_t size = 2;
        for (auto& member : members) {
            if (json_size(member.value()) > target / 2) fit(member.value(), target / 2, name);
            size += json_size(std::string_view(member.key())) + json_size(member.value()) + 2;
            if (size > target) break;
            fitting[member.key()] = std::move(member.value());
        }
        const auto shown = fitting.size();
        members = std::move(fitting);
        note(name, shown, all);
    }

    void note(std::string_view name, std::size_t fitting, std::size_t all)
    {
        if (fitting == all || notes_.size() > longest_note) return;
        notes_.append(notes_.empty() ? "" : ", ").append(name.substr(0, 100)).append(": ");
        notes_.append(std::to_string(fitting)).append(" of ").append(std::to_string(all)).append(" shown");
    }

    std::string where_;
    std::string notes_;
};

std::size_t size_of_links(const json::array& content)
{
    std::size_t size = 0;
    for (const auto& block : content)
        if (const auto* members = block.if_object(); members && text_of(*members, "type") != "image")
            size += json_size(block);
    return size;
}

bool is_link(const json::value& block)
{
    return block.is_object() && text_of(block.get_object(), "type") == "resource_link";
}

// The links are in the object, too.
void drop_links(json::array& content)
{
    json::array rest(content.storage());
    for (auto& block : content)
        if (!is_link(block)) rest.push_back(std::move(block));
    content = std::move(rest);
}

const json::key_value_pair* largest_text(const json::object& object)
{
    const json::key_value_pair* largest = nullptr;
    for (const auto& member : object)
        if (member.value().is_string() && (!largest || json_size(member.value()) > json_size(largest->value())))
            largest = &member;
    return largest;
}

bool streams_alone(const json::object& object, std::size_t limit)
{
    std::size_t size = json_size(object);
    for (const auto name : streams)
        if (const auto* stream = object.if_contains(name)) size -= json_size(*stream);
    return object.contains("output_uri") && size < limit / 2;
}

const json::value* number_under(const json::object& arguments, std::string_view name)
{
    const auto* value = arguments.if_contains(name);
    return value && value->is_int64() && value->get_int64() >= 0 ? value : nullptr;
}

std::optional<std::size_t> max_output_in(json::object& arguments, const json::object& schema)
{
    if (!arguments.contains("max_output")) return std::nullopt;
    static const json::object as_number{
        {"properties", json::object{{"max_output", json::object{{"type", "integer"}}}}}};
    take_as_meant(arguments, as_number);
    const auto* value = number_under(arguments, "max_output");
    const auto wish = value ? std::optional(static_cast<std::size_t>(value->get_int64())) : std::nullopt;
    if (!takes_max_output(schema) && value) arguments.erase("max_output");
    return wish;
}

void tell_rest(json::object& object, const shortener& shortened, const result_rest& rest, const std::string& path)
{
    std::string sentence = shortened.notes();
    if (!path.empty()) {
        const bool named = object.contains("output_uri");
        object[named ? "rest_uri" : "output_uri"] = "sandbox://default/" + path;
        object[named ? "rest_path" : "output_path"] = path;
        object["output_size"] = rest.size;
        sentence.append(sentence.empty() ? "" : "; ").append(rest.member.empty() ? "the whole result" : rest.member);
        sentence.append(": file_read ").append(path).append(" or resources/read, by offset or line");
    } else if (rest.size != 0) {
        sentence.append(sentence.empty() ? "" : "; ").append("the rest could not be kept: ask for less at a time");
    }
    if (!sentence.empty()) object["left_out"] = sentence;
}

}  // namespace

bool takes_max_output(const json::object& schema) { return object_of(schema, "properties").contains("max_output"); }

std::size_t result_limit_of(const tool_definition& tool, json::object& arguments, const result_limits& limits)
{
    if (const auto wish = max_output_in(arguments, tool.input_schema))
        return std::min(*wish, limits.most - room_for_facts) + room_for_facts;
    const auto* own = tool.size_argument.empty() ? nullptr : number_under(arguments, tool.size_argument);
    if (!own) return limits.usual;
    const auto wish = static_cast<std::uint64_t>(own->get_int64());
    return std::max(limits.usual, std::min<std::size_t>(wish, limits.most - room_for_facts) + room_for_facts);
}

result_rest rest_of(const tool_result& result, std::size_t limit)
{
    result_rest rest;
    const auto size = json_size(result.structured);
    rest.needed = size + size_of_links(result.content) > limit;
    if (size <= limit || streams_alone(result.structured, limit)) return rest;
    const auto* largest = largest_text(result.structured);
    const bool one = largest && size - json_size(largest->value()) < limit / 2;
    if (one) rest.member = largest->key();
    rest.text = one ? std::string(largest->value().get_string()) : result_text(result.structured);
    rest.size = rest.text.size();
    return rest;
}

void shorten(tool_result& result, std::size_t limit, const result_rest& rest, const std::string& path)
{
    drop_links(result.content);
    result.text.clear();  // it speaks of what is cut now
    auto& object = result.structured;
    if (json_size(object) + size_of_links(result.content) <= limit) return;
    shortener shortened(path.empty() ? text_of(object, "output_path") : path);
    const auto most = limit - std::min(limit / 2, room_for_note + size_of_links(result.content));
    shortened.fit_members(object, most);
    tell_rest(object, shortened, rest, path);
}

}  // namespace cmcp
