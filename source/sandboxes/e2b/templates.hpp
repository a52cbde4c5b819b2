#pragma once

#include "async/task_group.hpp"
#include "async/turns.hpp"
#include "e2b/sandbox_maker.hpp"
#include "e2b/terms.hpp"
#include "http/exchange.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::e2b {

/// E2B's templates: sandboxes that the steps of a build have made, and that new ones are copies of. A build whose first
/// steps are all those of another template goes on from a copy of that. Everything given to the constructor must
/// outlive this. Io thread only.
class templates {
public:
    templates(asio::any_io_executor executor, sandbox::backend& cells, sandbox_runner& runs, sandbox_files& files,
              sandbox_maker& maker)
        : executor_(executor), cells_(cells), runs_(runs), files_(files), maker_(maker), tasks_(executor)
    {
    }

    struct made_template {
        sandbox_record where;
        terms of;
    };
    /// By its id or its name, with a tag or without ("default"); the newest build that has it.
    std::optional<made_template> find(const caller& who, std::string_view name) const;

    std::string id_of_name(const caller& who, std::string_view name) const;  ///< with any tag; empty: there is none

    /// A request about templates; segments without the version. Throws sandbox_error and http_refusal.
    awaitable<http_reply> serve(caller who, const http_request& request, std::vector<std::string> segments,
                                json::object body);

    /// An archive of files for a build, by the link that the build's maker was given.
    awaitable<> take_files(exchange& x);

    /// Starts what the template starts in a sandbox made of it, and returns once that is ready. Throws sandbox_error.
    awaitable<> begin_programs(caller who, sandbox_record where, json::object recipe);

    awaitable<> stop();

private:
    struct build;
    struct upload {
        std::string owner, hash;
    };
    struct surroundings;  // of a step
    using build_ptr = std::shared_ptr<build>;

    std::vector<made_template> all_of(const caller& who) const;
    http_reply request_build(const caller& who, const json::object& wish);
    http_reply status_of(const build& of, const http_request& request) const;
    http_reply list(const caller& who) const;
    awaitable<http_reply> link_for_files(caller who, const http_request& request, std::string hash);
    http_reply assign_tags(const caller& who, const json::object& wish);
    http_reply remove_tags(const caller& who, const json::object& wish);
    http_reply tags_of(const caller& who, const std::string& name) const;
    void set_tags(const made_template& of, const std::set<std::string>& tags);
    awaitable<> remove(caller who, std::string name);

    void forget_files(const build& of, const std::vector<std::string>& hashes);
    awaitable<> run_build(build_ptr one, caller who, json::object wish);
    awaitable<> make(build_ptr one, caller who, json::object wish);
    awaitable<sandbox_record> base_of(caller who, json::object wish, std::size_t& done, std::vector<std::string> chain,
                                      bool anew);
    awaitable<> take_step(build_ptr one, caller who, sandbox_record where, surroundings& in, std::string type,
                          json::object step);
    awaitable<> finish(build_ptr one, caller who, sandbox_record where, json::object recipe);
    awaitable<sandbox_record> place_of_files(caller who);
    awaitable<> copy_files(caller who, sandbox_record to, std::string hash);
    sandbox::run_request request_of(const sandbox_record& where, const surroundings& in, std::string user,
                                    std::string command) const;
    awaitable<int> run(build_ptr log, std::string prefix, caller who, sandbox_record where,
                       sandbox::run_request request);
    awaitable<> run_for_life(sandbox::run_request request);

    asio::any_io_executor executor_;
    sandbox::backend& cells_;
    sandbox_runner& runs_;
    sandbox_files& files_;
    sandbox_maker& maker_;
    turns making_;                             // of the place for files, by owner
    std::map<std::string, build_ptr> builds_;  // by id
    std::map<std::string, upload> uploads_;    // by the token of their links
    task_group tasks_;
};

}  // namespace cmcp::e2b
