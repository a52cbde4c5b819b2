#include "test/cluster/cluster/two_servers.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string as_root = "Authorization: Bearer token-of-root-0123456789\r\n";
const std::string as_ann = "Authorization: Bearer token-of-ann-0123456789\r\n";

raw_response ask(member_server& at, std::string_view method, std::string_view path, const std::string& who)
{
    const std::string head = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n";
    return request(at.server(), head + who + "\r\n");
}

json::array nodes_of(const raw_response& answer)
{
    json::array nodes;
    const auto list = answer.parsed();
    for (const auto& row : list.at("runs").as_array()) nodes.push_back(row.at("node"));
    return nodes;
}

}  // namespace

TEST_CASE("an administrator asks one server for what runs at all, and each row says its server")
{
    two_servers both;
    const auto answer = ask(*both.one, "GET", "/admin/runs?node=*", as_root);
    INFO(answer.body);
    CHECK(answer.status == 200);
    CHECK(nodes_of(answer) == json::array{"n1", "n2"});
    CHECK(answer.parsed().at("runs").at(1).at("id") == "run-at-n2");
    CHECK(answer.parsed().at("unreachable_nodes").as_array().empty());
    CHECK(answer.parsed().at("columns").at("runs").at(0).at("name") == "id");
    CHECK_FALSE(answer.parsed().at("nodes").at(0).as_object().contains("columns"));
    CHECK(nodes_of(ask(*both.two, "GET", "/admin/runs?node=*", as_root)) == json::array{"n2", "n1"});
    CHECK(nodes_of(ask(*both.one, "GET", "/admin/runs?node=n2", as_root)) == json::array{"n2"});
    CHECK(nodes_of(ask(*both.one, "GET", "/admin/runs?node=n1", as_root)) == json::array{"n1"});
    CHECK_FALSE(ask(*both.one, "GET", "/admin/runs", as_root).parsed().as_object().contains("nodes"));
}

TEST_CASE("the run of another server is ended there, for the administrator who asks")
{
    two_servers both;
    const auto answer = ask(*both.one, "DELETE", "/admin/runs/run-at-n2?node=n2", as_root);
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("ended") == true);
    CHECK(both.two->run_ended_by() == "root");
    CHECK(both.one->run_ended_by().empty());
    CHECK(ask(*both.one, "DELETE", "/admin/runs/run-at-n1?node=n2", as_root).status == 404);
    CHECK(ask(*both.one, "DELETE", "/admin/runs/run-at-n2", as_root).status == 404);
    CHECK(ask(*both.one, "DELETE", "/admin/runs/run-at-n2?node=*", as_root).status == 400);
}

TEST_CASE("a caller who is no administrator sees and ends nothing of other servers, whatever he claims")
{
    two_servers both;
    for (const auto& who : {as_ann, as_ann + claim_of_root()})
        for (const std::string node : {"*", "n1", "n2"}) {
            const auto list = ask(*both.one, "GET", "/admin/runs?node=" + node, who);
            CHECK(list.status == 403);
            CHECK(list.body.find("run-at") == std::string::npos);
            CHECK(ask(*both.one, "DELETE", "/admin/runs/run-at-n2?node=" + node, who).status == 403);
        }
    CHECK(ask(*both.one, "GET", "/admin/runs?node=*", claim_of_root()).status == 401);
    CHECK(both.two->run_ended_by().empty());
}

TEST_CASE("a name of no member leads nowhere")
{
    two_servers both;
    const std::string address = "127.0.0.1:" + std::to_string(both.two->entrance());
    for (const auto& node : {std::string("n3"), std::string("N2"), address, "n2@" + address})
        CHECK(ask(*both.one, "GET", "/admin/runs?node=" + node, as_root).status == 404);
}

TEST_CASE("a server that is gone is named, and what is asked of it alone is refused")
{
    two_servers both;
    both.two.reset();
    const auto answer = ask(*both.one, "GET", "/admin/runs?node=*", as_root);
    CHECK(answer.status == 200);
    CHECK(nodes_of(answer) == json::array{"n1"});
    CHECK(answer.parsed().at("unreachable_nodes") == json::array{"n2"});
    const auto refused = ask(*both.one, "DELETE", "/admin/runs/run-at-n2?node=n2", as_root);
    CHECK(refused.status == 502);
    CHECK(refused.parsed().at("error_type") == "NodeUnreachable");
}

TEST_CASE("the page hears of the servers of its cluster where an administrator has it")
{
    two_servers both;
    const auto session = ask(*both.two, "GET", "/ui/session", as_root).parsed();
    CHECK(session.at("node") == "n2");
    CHECK(session.at("nodes") == json::array{"n1", "n2"});
    CHECK(ask(*both.two, "GET", "/ui/session", as_ann).parsed().at("nodes").as_array().empty());
}
