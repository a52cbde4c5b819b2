#pragma once

#include "administration/admin_gateway.hpp"

#include <string>
#include <string_view>

namespace cmcp::test {

/// An administration of a server in which nothing goes on.
class idle_administration : public admin_gateway {
public:
    awaitable<json::object> runs(admin_viewer by) override { co_return seen_by(by, "runs"); }
    awaitable<json::object> sandboxes(admin_viewer by, admin_page) override { co_return seen_by(by, "sandboxes"); }
    json::object jobs(const admin_viewer& by) override { return seen_by(by, "jobs"); }
    awaitable<json::object> usage(admin_viewer by, admin_connections) override { co_return seen_by(by, "principals"); }
    json::object ends(const admin_viewer& by) override { return seen_by(by, "ends"); }
    json::object egress(const admin_viewer& by) override { return seen_by(by, "decisions"); }
    json::object calls(const admin_viewer& by, const std::string&) override { return seen_by(by, "calls"); }
    json::object trends(const admin_viewer& by) override { return seen_by(by, "trends"); }
    json::object audit(const admin_viewer& by, std::size_t, std::string_view) override
    {
        return seen_by(by, "records");
    }
    awaitable<json::object> layers(admin_viewer) override { co_return json::object{{"status", "ok"}}; }
    json::object pull_image(const std::string&) override { return {{"there", true}}; }
    awaitable<json::object> health() override { co_return json::object{{"status", "ok"}}; }
    awaitable<bool> end_run(admin_viewer, std::string) override { co_return true; }
    awaitable<bool> delete_sandbox(admin_viewer, std::string) override { co_return true; }
    bool cancel_job(const admin_viewer&, const std::string&) override { return true; }
    list_positions now() const override { return {}; }
    admin_news since(const admin_viewer&, list_positions&) override { return {}; }
    json::object reload() override { return {}; }
    awaitable<> update_figures(admin_connections) override { co_return; }
    awaitable<json::object> copy_sandbox(std::string) override { co_return json::object{}; }

private:
    static json::object seen_by(const admin_viewer& by, const char* what)
    {
        json::object answer;
        answer[what].emplace_array();
        answer["of"] = by.principal;
        return answer;
    }
};

}  // namespace cmcp::test
