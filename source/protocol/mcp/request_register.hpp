#pragma once

#include "async/load_shares.hpp"
#include "mcp/session.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace cmcp {

class running_request;

/// Counts and limits the requests that run; knows them so that they can be cancelled.
class request_register {
public:
    request_register(std::size_t most, std::size_t most_per_session) : most_(most), most_per_session_(most_per_session)
    {
    }

    /// Where a request is registered: here and, by its id, in its session. Part of the request.
    class registration : public boost::intrusive::list_base_hook<> {
    public:
        registration() = default;
        registration(const registration&) = delete;
        registration& operator=(const registration&) = delete;
        ~registration() { leave(); }

        void leave();  ///< its id may be used again

    private:
        friend class request_register;
        request_register* in_ = nullptr;  // null: nowhere
        running_request* request_ = nullptr;
        std::shared_ptr<session> from_;
    };

    /// `from` null: no other request can name its id. Throws rpc_error: stopping, busy, id in use.
    /// `payer`: whom its work is charged to.
    void admit(running_request& request, std::shared_ptr<session> from, std::string_view payer);

    /// While it does not say 0, new requests of those who have used the loop most are refused, pings excepted: the
    /// larger the number, the more of them (load_shares::is_heavy).
    void refuse_while(std::function<unsigned()> overload) { overload_ = std::move(overload); }
    load_shares& shares() { return shares_; }

    std::vector<running_request*> all() const;  ///< oldest first

    void stop() { stopping_ = true; }
    std::size_t size() const { return registrations_.size(); }
    void cancel_all();

private:
    void check_limits(const running_request& request, const session* from, std::string_view payer) const;

    std::size_t most_;
    std::size_t most_per_session_;
    bool stopping_ = false;
    std::size_t listening_ = 0;  // subscriptions, which wait for hours and are bounded by the connections
    std::function<unsigned()> overload_;
    load_shares shares_;
    boost::intrusive::list<registration> registrations_;
};

}  // namespace cmcp
