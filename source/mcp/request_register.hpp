#pragma once

#include "mcp/running_request.hpp"
#include "mcp/session.hpp"

#include <cstdint>
#include <functional>
#include <unordered_set>

namespace cmcp {

/// Counts and limits the requests that run; knows them so that they can be cancelled.
class request_register {
public:
    request_register(std::size_t most, std::size_t most_per_session) : most_(most), most_per_session_(most_per_session)
    {
    }

    /// Keeps a request registered, in its session too, as long as it lives.
    class entry {
    public:
        entry(request_register& owner, std::shared_ptr<running_request> request, std::shared_ptr<session> who,
              std::string key);
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        ~entry();

        const std::shared_ptr<running_request>& request() const { return request_; }

    private:
        request_register& owner_;
        std::shared_ptr<running_request> request_;
        std::shared_ptr<session> who_;
        std::string key_;
    };

    /// `who` null: stateless era; `ends`: as running_request's. Throws rpc_error: stopping, busy, id in use.
    std::unique_ptr<entry> begin(std::string method, const json::value& id, std::shared_ptr<session> who,
                                 std::shared_ptr<canceller> ends, jsonrpc::request_ids ids);

    /// While it says true, new requests are refused, pings excepted.
    void refuse_while(std::function<bool()> overloaded) { overloaded_ = std::move(overloaded); }

    void stop() { stopping_ = true; }
    bool stopping() const { return stopping_; }
    std::size_t size() const { return running_.size(); }
    void cancel_all();

private:
    std::size_t most_;
    std::size_t most_per_session_;
    bool stopping_ = false;
    std::size_t listening_ = 0;  // subscriptions, which wait for hours and are bounded by the connections
    std::function<bool()> overloaded_;
    std::unordered_set<std::shared_ptr<running_request>> running_;
};

}  // namespace cmcp
