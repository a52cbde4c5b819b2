#pragma once

#include "launcher/live_cell.hpp"
#include "launcher/zygote.hpp"
#include "wire/python_start.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::sandbox {

class launcher;

/// A Python interpreter that is kept loaded; its clones become the first processes of cells. Another replaces it
/// after some clones. Whatever goes wrong makes cells without it.
class loaded_interpreter {
public:
    /// The runs that it serves.
    enum class role {
        main,  ///< every Python run; its state is reported to the server
        data,  ///< runs that use the libraries for data; it is loaded for the first of them
    };

    loaded_interpreter(launcher& keeper, zygote_options options, role serves);

    /// Whether a clone can be what the request starts, once it is loaded.
    bool stands_in_for(const run_request& request) const;
    bool is_ready();  ///< starts loading, where that has not begun
    bool has_clones() const { return active_.ready && clones_ < options_.runs; }  ///< now
    role serves() const { return role_; }
    std::size_t waiting() const { return options_.waiting; }  ///< cells that are to be ready for one shape

    /// Orders a clone as the first process of the cell. False: none will come.
    bool order(std::uint64_t key, const cell& of);

    void hear(std::uint64_t key);            ///< the zygote of this key has said something
    void note_loss(const std::string& why);  ///< a clone ended before its first run
    void note_use() { losses_ = 0; }

private:
    struct loaded {
        std::unique_ptr<zygote> process;  ///< none: it has not been started, or is gone
        std::uint64_t key = 0;
        bool ready = false;
        std::string about{};  ///< JSON
    };

    loaded start_zygote();
    void hear(zygote::message said, bool from_active);
    void attach(cloned child);
    void lose_order(const std::string& why);
    void turn_off(const std::string& why);
    void switch_when_due();
    void tell_state();

    launcher& keeper_;
    zygote_options options_;
    std::optional<python_start> python_;  ///< how the zygotes are started
    role role_;
    bool started_ = false;
    loaded active_, next_;
    std::string obstacle_;
    std::uint32_t clones_ = 0;           ///< made by the active one
    std::deque<std::uint64_t> ordered_;  ///< clones on their way, in order
    int losses_ = 0;                     ///< one after the other, without a run between
};

}  // namespace cmcp::sandbox
