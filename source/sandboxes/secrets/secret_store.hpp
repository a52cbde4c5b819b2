#pragma once

#include "secrets/secret_record.hpp"
#include "store/database.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace cmcp {

/// Secrets in <SANDBOX_ROOT>/secrets.db, encrypted. The server and its commands have it open at the same time; a change
/// of one is seen by the other with its next look. Throws database_error.
class secret_store {
public:
    explicit secret_store(const std::filesystem::path& file);

    static std::filesystem::path file_in(const std::filesystem::path& sandbox_root)
    {
        return sandbox_root / "secrets.db";
    }

    /// Null where nothing was kept yet.
    static std::unique_ptr<secret_store> existing(const std::filesystem::path& sandbox_root);

    void set(const secret_record& secret);  ///< in place of one of the same name, principal and sandbox
    bool remove(std::string_view name, std::string_view principal, std::string_view sandbox);
    std::vector<secret_record> all();  ///< by name
    void note_use(const secret_record& secret, double now);

    /// Another number after each change by another connection.
    std::int64_t version();

private:
    database db_;
};

}  // namespace cmcp
