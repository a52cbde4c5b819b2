#pragma once

#include "launcher/standby_pool.hpp"
#include "launcher/zygote.hpp"
#include "wire/python_start.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::sandbox {

/// Standby runs that are clones of a loaded interpreter, which the pool keeps. Whatever goes wrong before the code of a
/// run has begun makes the run a cold one.
class standby_clones final : public standby_pool {
public:
    /// The runs that a pool serves.
    enum class role {
        main,  ///< every Python run; the server is told of its zygote
        data,  ///< runs that use the libraries for data; the zygote is loaded for the first of them
    };

    standby_clones(launcher& keeper, zygote_options options, role serves);

    void hear_zygote(std::uint64_t key) override;
    void look(steady_time now, std::size_t running) override;
    bool stands_in_for(const run_request& request) const override;
    bool order_for(std::uint64_t key, const cell& of) override;

private:
    struct loaded_interpreter {
        std::unique_ptr<zygote> process;  ///< none: it has not been started, or is gone
        std::uint64_t key = 0;
        bool ready = false;
        std::string about{};  ///< JSON
    };

    std::optional<run_request> shape_for(const start_message& start) override;
    bool can_make() const override;
    bool launch(std::uint64_t key, run& standby) override;
    void note_loss(bool was_ready, const std::string& why) override;
    void refill() override;

    bool order(std::uint64_t key, const cell& of);
    void lose_order(std::uint64_t key, const std::string& why);
    loaded_interpreter start_zygote();
    void take_over();
    void hear(zygote::message said, bool from_active);
    void attach(cloned child);
    void turn_off(const std::string& why);
    void tell_state();

    zygote_options options_;
    std::optional<python_start> python_;  ///< how the zygotes are started
    role role_;
    bool started_ = false;
    loaded_interpreter active_, next_;
    std::string obstacle_;
    std::uint32_t clones_ = 0;           ///< made by the active one
    std::deque<std::uint64_t> ordered_;  ///< clones on their way, in order
};

}  // namespace cmcp::sandbox
