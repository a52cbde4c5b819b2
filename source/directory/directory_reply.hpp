#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace cmcp {

/// An answer of Valkey or Redis to one command (RESP2).
struct directory_reply {
    enum class kind { nothing, text, number, list, error };

    kind is = kind::nothing;
    std::string text{};       ///< of a text or an error
    std::int64_t number = 0;  ///< of a number
    std::vector<directory_reply> items{};
};

/// Words of a command, the first of which is its name.
using directory_command = std::vector<std::string>;

/// The bytes of a command, as the protocol has them.
std::string directory_bytes(const directory_command& command);

/// Makes answers of the bytes of a connection.
class directory_replies {
public:
    directory_replies();
    directory_replies(const directory_replies&) = delete;
    directory_replies& operator=(const directory_replies&) = delete;
    ~directory_replies();

    void take(std::string_view bytes);

    /// Nothing: more bytes are to come. Throws std::runtime_error when they are no answers.
    std::optional<directory_reply> next();

private:
    redisReader* reader_;
};

}  // namespace cmcp
