#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace cmcp {

/// what() says why the directory cannot be reached or believed, as the end of a sentence.
struct directory_away : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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

/// Makes answers of the bytes of a connection, piece by piece as they come. A directory is not trusted to be modest:
/// what one answer may take is bounded before there is memory for it.
class directory_replies {
public:
    struct limits {
        std::size_t bytes = 4u << 20;                   ///< of one answer
        std::size_t elements = 100'000;                 ///< of all its lists together
        static constexpr std::size_t error_text = 200;  ///< bytes of an error that are kept
    };

    directory_replies() : directory_replies(limits()) {}
    explicit directory_replies(limits of);
    directory_replies(const directory_replies&) = delete;
    directory_replies& operator=(const directory_replies&) = delete;
    ~directory_replies();

    void take(std::string_view bytes);

    /// Nothing: more bytes are to come. Throws directory_away when they are no answers, or one is too large.
    std::optional<directory_reply> next();

private:
    struct maker;

    const limits limits_;
    std::unique_ptr<maker> maker_;
    redisReader* reader_;
    std::size_t taken_ = 0;  // bytes since the end of the latest answer
};

}  // namespace cmcp
