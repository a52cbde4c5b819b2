#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// The memory of a server for messages that wait for clients, messages kept for Last-Event-ID and bodies of requests.
/// A principal may hold as much as it leaves free, so several together always leave something to the next one. The
/// default caller is everybody and may hold all. Io thread only.
class memory_budget : public std::enable_shared_from_this<memory_budget> {
public:
    /// The memory of one principal.
    class part {
    public:
        explicit part(memory_budget& of, bool limited) : all_(of), limited_(limited) {}
        part(const part&) = delete;
        part& operator=(const part&) = delete;

        void add(std::size_t size)
        {
            used_ += size;
            all_.used_ += size;
        }
        void remove(std::size_t size)
        {
            used_ -= size;
            all_.used_ -= size;
        }
        std::size_t used() const { return used_; }

        /// Streams follow this: each holds one message more at most. Large bodies are refused.
        bool exhausted() const { return all_.free() == 0 || (limited_ && used_ >= all_.free()); }
        bool own_fault() const { return all_.free() != 0; }  ///< why it is exhausted

        /// Whether a log may keep so much more. Logs leave half to messages that wait to be sent.
        bool keeps(std::size_t size) const
        {
            return all_.used_ + size <= all_.limit_ / 2 && (!limited_ || used_ + size <= all_.free() / 2);
        }

    private:
        memory_budget& all_;
        bool limited_;
        std::size_t used_ = 0;
    };

    explicit memory_budget(std::size_t limit = 256u << 20) : limit_(limit) {}

    /// Keeps the budget alive, which must be shared.
    std::shared_ptr<part> of(std::string_view principal)
    {
        auto known = parts_.find(principal);
        if (known == parts_.end()) known = parts_.try_emplace(std::string(principal), *this, !principal.empty()).first;
        return {shared_from_this(), &known->second};
    }

    std::size_t limit() const { return limit_; }
    std::size_t used() const { return used_; }

private:
    std::size_t free() const { return limit_ - std::min(limit_, used_); }

    std::size_t limit_;
    std::size_t used_ = 0;
    std::map<std::string, part, std::less<>> parts_;  // as many as there are tokens
};

}  // namespace cmcp
