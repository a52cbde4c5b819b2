#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "egress/egress_guard.hpp"
#include "mcp/request_io.hpp"
#include "sandboxes/image_choice.hpp"
#include "wire/program_starter.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace cmcp {

struct settings;

/// The process that fetches an image, for start_programs_through_helper().
sandbox::startable_program image_fetcher_program(const settings& config);

/// Fetches images that SANDBOX_IMAGE_PULL allows when a sandbox asks for them, in the background, one after the other,
/// and each once for all calls that wait for it. A fetch goes on when its calls are gone. skopeo has no way out but the
/// egress guard. Io thread only.
class image_fetches {
public:
    /// `config` and `choice` must outlive this. `program`: mostly image_fetcher_program().
    image_fetches(const settings& config, asio::any_io_executor executor, const image_choice& choice,
                  sandbox::startable_program program);
    image_fetches(const image_fetches&) = delete;
    image_fetches& operator=(const image_fetches&) = delete;

    /// Where `image` is one to be fetched: waits until it is there, and tells the caller how that goes. Throws
    /// sandbox_error (ImageNotFetched, Busy, InvalidArgument).
    awaitable<> provide(request_io& io, std::string image);

    /// The same without waiting: a sentence on how far it is. Empty: the image is there. Begins it where it is not
    /// under way. Throws sandbox_error, ImageNotFound also where SANDBOX_IMAGE_PULL does not allow it.
    std::string begin(const std::string& image);

    awaitable<> stop();  ///< ends what is under way

private:
    using clock = std::chrono::steady_clock;
    struct fetch;
    class fetcher;

    std::shared_ptr<fetch> join(const std::string& name);
    awaitable<> run(std::shared_ptr<fetch> one);
    awaitable<std::string> attempt(std::shared_ptr<fetch> one);
    awaitable<> follow(std::shared_ptr<fetch> one);

    sandbox::startable_program program_;
    const image_choice& choice_;
    asio::any_io_executor executor_;
    egress_guard guard_;
    egress_limits limits_;
    std::map<std::string, std::shared_ptr<fetch>> fetches_;  ///< by name; failed ones for a while
    event freed_;
    bool busy_ = false;
    task_group tasks_;
};

}  // namespace cmcp
