#pragma once

#include "identity/login.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <vector>

namespace cmcp {

/// The answers that go on with the rights of a login, so that they end where the login is taken back. Io thread only.
class login_holds {
    using hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    /// Such an answer, from begin() to end() or its destruction.
    class hold : public hook {
    public:
        virtual ~hold() = default;

        void begin(login_holds& all, login_ptr who);
        void end();
        void move_to(hold& other);  ///< the answer is the other's matter from now on

    private:
        friend class login_holds;
        virtual void login_ended() = 0;  ///< must not end another hold at once

        login_holds* all_ = nullptr;
        login_ptr who_;
    };

    std::vector<login_ptr> logins() const;              ///< each once, in the order of their addresses
    std::size_t end(const std::vector<login_ptr>& of);  ///< the answers of these, in that order; their number

private:
    boost::intrusive::list<hold, boost::intrusive::constant_time_size<false>> all_;
};

}  // namespace cmcp
