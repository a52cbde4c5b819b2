#include "files/trees.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

namespace cmcp {

namespace {

/// Takes one level off every folder that is left, round by round, so there is no recursion and no path too long: the
/// files of a folder are removed, and its folders move up to the top under names that are free there.
class tree_removal {
public:
    explicit tree_removal(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::optional<bool> go_on(slice_end until)
    {
        if (!top_ && !begin()) return errno == ENOENT || ::unlink(folder_.c_str()) == 0;
        while (step())
            if (std::chrono::steady_clock::now() >= until) return std::nullopt;
        return ::rmdir(folder_.c_str()) == 0;
    }

private:
    bool begin()
    {
        top_ = open_folder_with_rights(AT_FDCWD, folder_.c_str(), rights_to_change);
        return static_cast<bool>(top_);
    }

    // False: nothing more can be removed.
    bool step()
    {
        if (inner_) {
            inner_left_.empty() ? end_inner() : remove_from_inner();
        } else if (!left_.empty()) {
            remove_from_top();
        } else if (progress_) {
            progress_ = false;
            left_ = folder_reader(open_folder(top_.get(), ".")).read_all();
        } else {
            return false;
        }
        return true;
    }

    void remove_from_top()
    {
        name_ = std::move(left_.back().name);
        left_.pop_back();
        if (::unlinkat(top_.get(), name_.c_str(), 0) == 0) {
            progress_ = true;
            return;
        }
        inner_ = open_folder_with_rights(top_.get(), name_.c_str(), rights_to_change);
        if (!inner_) return;
        inner_left_ = folder_reader(open_folder(inner_.get(), ".")).read_all();
        inner_gone_ = true;
    }

    void remove_from_inner()
    {
        const std::string name = std::move(inner_left_.back().name);
        inner_left_.pop_back();
        if (::unlinkat(inner_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return;
        if (::unlinkat(inner_.get(), name.c_str(), AT_REMOVEDIR) == 0) return;
        // For the rights: moving a folder changes its "..".
        open_folder_with_rights(inner_.get(), name.c_str(), rights_to_change);
        inner_gone_ = move_to_top(name) && inner_gone_;
    }

    bool move_to_top(const std::string& name)
    {
        int failed = 0;
        do {
            const std::string moved = ".removed-" + std::to_string(++counter_);
            failed = ::renameat2(inner_.get(), name.c_str(), top_.get(), moved.c_str(), RENAME_NOREPLACE);
        } while (failed != 0 && errno == EEXIST);
        return failed == 0;
    }

    void end_inner()
    {
        inner_.reset();
        if (inner_gone_ && ::unlinkat(top_.get(), name_.c_str(), AT_REMOVEDIR) == 0) progress_ = true;
    }

    std::filesystem::path folder_;
    unique_fd top_;
    std::vector<folder_item> left_;  // of this round, in the top
    bool progress_ = true;           // the round removed something
    std::string name_;               // of the folder in the top that is emptied
    unique_fd inner_;
    std::vector<folder_item> inner_left_;
    bool inner_gone_ = true;  // nothing had to be left in it
    std::size_t counter_ = 0;
};

}  // namespace

sliced_work<bool> remove_tree(std::filesystem::path folder)
{
    const auto removal = std::make_shared<tree_removal>(std::move(folder));
    return [removal](slice_end until) { return removal->go_on(until); };
}

}  // namespace cmcp
