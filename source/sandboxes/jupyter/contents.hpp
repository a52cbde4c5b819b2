#pragma once

#include "async/blocking_pool.hpp"
#include "jsonrpc/json.hpp"
#include "jupyter/chunked_uploads.hpp"
#include "jupyter/folders.hpp"
#include "sandboxes/sandbox_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::jupyter {

/// The wishes of a client that reads.
struct wanted_content {
    std::string type;    ///< notebook, file or directory; empty: by what is there
    std::string format;  ///< json, text or base64; empty: by the bytes
    bool content = true;
};

/// A file, folder or sandbox in a list.
struct folder_entry {
    std::string name;
    double modified = 0;  ///< seconds since 1970
    std::optional<std::uint64_t> size;
    bool is_folder = false;
};

/// The parts of a model that is stored.
struct stored_model {
    std::string type;                   ///< notebook, file, directory; empty: the client has not said it
    std::optional<std::int64_t> chunk;  ///< the number of a piece
    std::string bytes;                  ///< of the file or piece
};

/// From the model's text, which may be long. Throws http_refusal.
stored_model read_stored(std::string_view body);

/// Files of sandboxes as Jupyter's contents: models as JSON text, because a notebook's own text goes through unchanged.
/// Throws sandbox_error, file_error and http_refusal.
class contents {
public:
    /// All must outlive this.
    contents(folders& places, sandbox_files& files, chunked_uploads& uploads, blocking_pool& pool)
        : folders_(places), files_(files), uploads_(uploads), pool_(pool)
    {
    }

    awaitable<std::string> get(caller who, std::string path, wanted_content wanted) const;

    /// Stores the model that `body` is the text of. `second`: whether the file is new.
    awaitable<std::pair<std::string, bool>> put(caller who, std::string path, std::string body) const;

    /// A new file with a name of its own in the folder, empty or a copy, as `wish` says ("type", "ext", "copy_from").
    awaitable<std::string> make(caller who, std::string folder, json::object wish) const;
    awaitable<std::string> rename(caller who, std::string path, std::string to) const;
    awaitable<> remove(caller who, std::string path) const;

    /// Whether there is a folder, also a list of sandboxes.
    awaitable<bool> is_folder(caller who, std::string path) const;

    // A file has one checkpoint: a copy in the folder .ipynb_checkpoints beside it.
    awaitable<json::array> checkpoints(caller who, std::string path) const;
    awaitable<json::object> keep(caller who, std::string path) const;
    awaitable<> restore(caller who, std::string path) const;
    awaitable<> remove_checkpoint(caller who, std::string path) const;

private:
    struct entry;

    awaitable<place> existing(caller who, std::string path) const;
    awaitable<entry> look(place at) const;
    awaitable<std::string> bytes_of(place at) const;
    awaitable<> store(place at, std::string bytes) const;
    awaitable<std::pair<std::string, bool>> put_chunk(caller who, std::string path, stored_model model) const;
    awaitable<> make_folder(place at) const;
    awaitable<std::string> model_after(place at) const;
    awaitable<std::vector<folder_entry>> listed(place folder) const;
    std::vector<folder_entry> sandboxes_of(const caller& who) const;
    awaitable<place> free_place(place folder, std::string stem, std::string ending, std::string between) const;

    folders& folders_;
    sandbox_files& files_;
    chunked_uploads& uploads_;
    blocking_pool& pool_;
};

}  // namespace cmcp::jupyter
