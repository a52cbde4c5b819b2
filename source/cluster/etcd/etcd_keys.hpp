#pragma once

#include "jsonrpc/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A key of etcd with its value (mvccpb.KeyValue).
struct etcd_entry {
    std::string key{}, value{};
    std::int64_t created = 0;   ///< revision in which it was created
    std::int64_t modified = 0;  ///< revision of its last change
    std::int64_t lease = 0;     ///< 0: none
};

/// The least key behind all that begin with `prefix`.
std::string end_of_prefix(std::string prefix);

/// A transaction of etcd (etcdserverpb.TxnRequest): where all conditions hold, what is put and removed, else nothing.
class etcd_transaction {
public:
    etcd_transaction& if_absent(std::string_view key);
    etcd_transaction& if_modified_in(std::string_view key, std::int64_t revision);  ///< 0: it is absent
    etcd_transaction& put(std::string_view key, std::string_view value, std::int64_t lease = 0);
    etcd_transaction& remove(std::string_view key);

    /// What the answer has of this key, or of all below the prefix, whether the conditions hold or not, as it is after
    /// the transaction.
    etcd_transaction& read(std::string_view key);
    etcd_transaction& read_below(std::string_view prefix);

    std::size_t size() const { return then_.size(); }
    json::object request() const;

private:
    json::array conditions_, then_, otherwise_;
    json::array reads_;
};

/// The answer to a transaction.
struct etcd_outcome {
    bool done = false;                            ///< whether the conditions held
    std::int64_t revision = 0;                    ///< of the store then; of all that was put, where it is done
    std::vector<std::vector<etcd_entry>> read{};  ///< in the order of read() and read_below()

    /// The entry of a read(); null: the key is absent.
    const etcd_entry* first(std::size_t of = 0) const
    {
        return of < read.size() && !read[of].empty() ? &read[of].front() : nullptr;
    }
};

// Of answers of the gateway, in which integers of 64 bits are texts and bytes are base64.
std::int64_t etcd_number(const json::object& from, std::string_view name);
std::optional<etcd_entry> etcd_entry_of(const json::object& row);  ///< nothing: it is none
std::vector<etcd_entry> entries_in(const json::object& range_answer);
etcd_outcome outcome_in(const json::object& answer);

}  // namespace cmcp
