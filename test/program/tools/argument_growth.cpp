#include "jsonrpc/read_object.hpp"
#include "mcp/arguments/argument_rules.hpp"
#include "mcp/arguments/lenient_arguments.hpp"
#include "test/program/tools/system_support.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// The values of arguments that a caller can make large.
json::value large_value(int kind, std::size_t size)
{
    if (kind == 0) return json::array(size, json::value("item"));
    if (kind == 1) return json::array(size, json::object{{"path", "a"}, {"old_text", 1}});
    if (kind == 2) return json::value(std::string(20 * size, ' ') + "x");
    if (kind == 3) {
        std::string text = "[0";
        for (std::size_t i = 0; i < size; ++i) text += ",[]";
        return json::value(text + "]");
    }
    json::object members;
    for (std::size_t i = 0; i < size; ++i) members["k" + std::to_string(i)] = json::array{};
    return members;
}

}  // namespace

TEST_CASE("the arguments of every tool take time in proportion to their size")
{
    constexpr std::size_t size = 2000;
    system_stage stage;
    std::size_t looked_at = 0;
    for (const auto& each : stage.registry.all()) {
        const auto& definition = each->definition();
        const argument_rules rules(definition);
        const auto example = example_arguments(definition.input_schema, {});
        const auto fit = [&rules](json::object& arguments) {
            rules.validate_anywhere(arguments);
            rules.take_out_unknown(arguments);
        };
        const auto unknown = [&example](std::size_t count) {
            auto arguments = example;
            for (std::size_t i = 0; i < count; ++i) arguments["path" + std::to_string(i)] = "x";
            return arguments;
        };
        INFO(definition.name);
        CHECK(growth(unknown, fit, 4 * size) < linear_growth);
        for (const auto& [name, property] : object_of(definition.input_schema, "properties"))
            for (const int kind : {0, 1, 2, 3, 4}) {
                const auto with_large = [&, name = std::string(name)](std::size_t count) {
                    auto arguments = example;
                    arguments[name] = large_value(kind, count);
                    return arguments;
                };
                // Most are refused at once, which takes no time to speak of.
                auto once = with_large(2 * size);
                const auto began = thread_time();
                fit(once);
                if (thread_time() - began < std::chrono::microseconds(200)) continue;
                ++looked_at;
                INFO(name << ' ' << kind);
                CHECK(growth(with_large, fit, size) < linear_growth);
            }
    }
    CHECK(looked_at > 20);
}
