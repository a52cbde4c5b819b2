#pragma once

#include "files/file_error.hpp"
#include "files/file_operations.hpp"
#include "test/support/catch.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cmcp::test {

namespace fs = std::filesystem;

/// A folder with a root in it and things beside the root that nothing may reach; goes with the object.
struct file_scene {
    file_scene()
    {
        std::string folder = (fs::temp_directory_path() / "cmcp-files-XXXXXX").string();
        if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("mkdtemp");
        base = folder;
        workspace = base / "workspace";
        for (const char* name : {"workspace", "workspace-evil", "outside", "workspace/sub"})
            fs::create_directory(base / name);
        put_at(base / "outside/secret.txt", "CANARY");
        put_at(base / "workspace-evil/secret.txt", "CANARY");
        put("hello.txt", "hello\n");
        put("sub/inner.txt", "inner\n");
    }
    file_scene(const file_scene&) = delete;
    file_scene& operator=(const file_scene&) = delete;
    ~file_scene()
    {
        std::error_code ignored;
        fs::remove_all(base, ignored);
    }

    static void put_at(const fs::path& where, const std::string& content)
    {
        std::ofstream(where, std::ios::binary) << content;
    }
    static std::string get_at(const fs::path& where)
    {
        std::ifstream in(where, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void put(const std::string& name, const std::string& content) const { put_at(workspace / name, content); }
    std::string get(const std::string& name) const { return get_at(workspace / name); }
    void link(const std::string& target, const std::string& name) const
    {
        fs::create_symlink(target, workspace / name);
    }
    mode_t mode(const std::string& name) const
    {
        struct stat status {};
        return ::lstat((workspace / name).c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
    }
    std::size_t count_in(const std::string& folder = ".") const
    {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(workspace / folder), fs::directory_iterator()));
    }
    bool outside_is_untouched() const
    {
        const auto entries = std::distance(fs::directory_iterator(base / "outside"), fs::directory_iterator());
        return entries == 1 && get_at(base / "outside/secret.txt") == "CANARY" &&
               get_at(base / "workspace-evil/secret.txt") == "CANARY";
    }

    file_root root() const { return file_root(workspace); }
    file_content read(std::string path, std::string encoding = "utf-8") const
    {
        return read_file(root(), policy, {std::move(path), std::move(encoding), 0, {}});
    }
    void write(std::string path, std::string content, std::string encoding = "utf-8") const
    {
        write_file(root(), policy, {std::move(path), std::move(content), std::move(encoding)});
    }
    void remove(const std::string& path) const { delete_file(root(), policy, file_path("path", path)); }
    void move(std::string source, std::string destination, bool overwrite = false) const
    {
        move_file(root(), policy, {std::move(source), std::move(destination), overwrite});
    }
    file_page list(file_list_request what) const { return list_folder(root(), what); }

    /// The sentence with which the call is refused; empty when it is not.
    template <class F>
    static std::string refusal(F call)
    {
        try {
            call();
            return {};
        } catch (const file_error& problem) {
            return problem.what();
        }
    }
    std::string read_refusal(const std::string& path, const std::string& encoding = "utf-8") const
    {
        return refusal([&] { read(path, encoding); });
    }
    std::string write_refusal(const std::string& path, const std::string& content = "h3") const
    {
        return refusal([&] { write(path, content); });
    }

    fs::path base;
    fs::path workspace;
    file_policy policy{1 << 20, {"*"}};
};

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cmcp::test
