#pragma once

#include "async/asio.hpp"
#include "config/store_address.hpp"
#include "objects/aws_signature.hpp"
#include "objects/store_xml.hpp"
#include "web/http_client.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// A request to the object storage that failed. what() is a sentence: the request, the answer, and what helps.
struct object_store_error : std::runtime_error {
    object_store_error(const std::string& sentence, std::string code_of_store, unsigned status_of_answer)
        : std::runtime_error(sentence), code(std::move(code_of_store)), status(status_of_answer)
    {
    }

    std::string code;  ///< as S3 has them, for example NoSuchBucket; empty: none came
    unsigned status;   ///< of HTTP; 0: no answer came
};

/// Advice against an answer of the storage, as a sentence.
std::string_view store_advice(std::string_view code, unsigned status);

/// An object storage, and how patient its client is.
struct object_store_options {
    store_address to;
    std::string region = "us-east-1";
    aws_credentials by;
    std::filesystem::path ca{};                         ///< PEM file beside the system's; empty: none
    std::chrono::milliseconds request_timeout{60'000};  ///< for one request
    std::chrono::milliseconds patience{30'000};         ///< no further attempt begins later; 0: there is one
    std::chrono::milliseconds first_pause{200};         ///< before the second attempt; grows up to 5 s
    std::size_t page_size = 1000;                       ///< keys of a page of list()

    /// Of SNAPSHOT_STORE and its like; SNAPSHOT_STORE is not empty. Throws config_error.
    static object_store_options of(const cluster_settings& config);
};

/// Objects of a bucket of an S3-compatible storage, below the prefix of its address, which keys here do not have. Used
/// on the io thread; outlives its calls, of which there may be several at once. Connections that fail and answers 429
/// and 5xx are tried again with growing pauses. Every call throws object_store_error; no sentence has the secret.
class object_store {
public:
    static constexpr std::size_t most_bytes = 16 << 20;  ///< of an object

    /// Throws config_error: options.ca cannot be used.
    object_store(asio::any_io_executor executor, object_store_options options);

    /// Replaces an object that is there. The ETag of what is there now; empty: the storage does not say it.
    awaitable<std::string> put(std::string key, std::string bytes);

    awaitable<std::optional<std::string>> get(std::string key);  ///< nothing: there is none
    awaitable<> remove(std::string key);                         ///< of an object that is not there, too

    /// All keys that begin so, in the order of the storage, which is that of their bytes at most of them.
    awaitable<std::vector<std::string>> list(std::string prefix);
    awaitable<std::vector<listed_object>> list_objects(std::string prefix);  ///< the same with their ETags

    const std::string& text() const { return text_; }  ///< the address, for messages

private:
    struct order;
    struct answer;

    std::shared_ptr<order> order_for(std::string method, const std::string& wish, const std::string& key) const;
    std::shared_ptr<order> page_order(const std::string& prefix, const std::string& token) const;
    void give(order& to, std::string bytes) const;
    awaitable<answer> ask(std::shared_ptr<const order> wanted);
    awaitable<answer> try_once(std::shared_ptr<const order> wanted);
    awaitable<> pause(std::chrono::milliseconds longest);
    fetch_request signed_request(const order& wanted) const;
    [[noreturn]] void fail(const order& wanted, const answer& got) const;
    awaitable<store_listing> listing_of(std::shared_ptr<const order> wanted, std::string body) const;
    [[noreturn]] void fail_listing(const order& wanted, const std::string& problem) const;
    std::string shown(std::string text) const;

    object_store_options options_;
    web_url base_;
    std::string text_;
    std::shared_ptr<const egress_policy> policy_;
    asio::any_io_executor executor_;
    http_client client_;
};

}  // namespace cmcp
