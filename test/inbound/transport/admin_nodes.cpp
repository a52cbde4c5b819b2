#include "administration/admin_nodes.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

json::object row(const char* id, double used) { return {{"id", id}, {"last_used", used}, {"place", id}}; }

json::array ids_of(const json::object& list)
{
    json::array ids;
    for (const auto& each : list.at("sandboxes").as_array()) ids.push_back(each.at("id"));
    return ids;
}

std::vector<node_list> two_lists(const json::value& next_of_first)
{
    std::vector<node_list> lists;
    lists.push_back({"n1", {{"sandboxes", json::array{row("b", 5), row("c", 1)}}, {"total", 7}}});
    lists.back().answer["next"] = next_of_first;
    lists.push_back({"n2", {{"sandboxes", json::array{row("d", 5), row("a", 3)}}, {"total", 2}, {"next", nullptr}}});
    return lists;
}

}  // namespace

TEST_CASE("lists of several servers are one in a common order, equal rows by their ids in the same direction")
{
    const auto latest = one_list_of(two_lists(nullptr), "sandboxes", {"last_used"});
    CHECK(ids_of(latest) == json::array{"d", "b", "a", "c"});
    CHECK(latest.at("sandboxes").at(0).at("node") == "n2");
    CHECK(latest.at("total") == 9);
    CHECK(latest.at("next").is_null());
    const auto by_id = one_list_of(two_lists(nullptr), "sandboxes", {"id", true});
    CHECK(ids_of(by_id) == json::array{"a", "b", "c", "d"});
}

TEST_CASE("a part of a list of several servers ends where the next one begins at each of them")
{
    const auto cut = one_list_of(two_lists(nullptr), "sandboxes", {"last_used", false, 3});
    CHECK(ids_of(cut) == json::array{"d", "b", "a"});
    CHECK(cut.at("next") == "a");
    const auto more = one_list_of(two_lists("c"), "sandboxes", {"last_used", false, 4});
    CHECK(more.at("next") == "c");
}

TEST_CASE("the other members of an answer stand with their server, and a silent one is named")
{
    std::vector<node_list> lists;
    lists.push_back({"n1", {{"principals", json::array()}, {"machine", {{"runs", 1}}}}});
    lists.push_back({"n2", {}});
    const auto list = one_list_of(std::move(lists), "principals", {"calls"});
    CHECK(list.at("nodes").as_array().size() == 1);
    CHECK(list.at("nodes").at(0).at("node") == "n1");
    CHECK(list.at("nodes").at(0).at("machine").at("runs") == 1);
    CHECK(list.at("unreachable_nodes") == json::array{"n2"});
    CHECK_FALSE(list.contains("next"));
    CHECK_FALSE(list.contains("total"));
}
