#pragma once

#include "audit/audit_files.hpp"
#include "audit/chain.hpp"
#include "audit/key_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cmcp::audit {

class chain_check;
struct chain_fault;

/// Where an audit is stored, and how much of it.
struct journal_options {
    std::filesystem::path folder;
    std::filesystem::path keys;  ///< folder of the signing keys
    std::uint64_t file_size = 64u << 20;
    std::size_t keep = 0;  ///< files; 0: all
};

/// The files of an audit, written by one process at a time. What cannot be written stays in memory and is tried again.
/// Blocks on the disk. For one thread.
class journal {
public:
    /// Goes on with the audit in the folder, which is made where it is not there. Checks the last file, and notes a
    /// line that was cut off. Throws audit_error with a sentence that says what to do.
    explicit journal(journal_options how);
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    /// The next record, in memory until write().
    void add(const record& of);

    /// Writes what is in memory. False: trouble() says why, and it stays there.
    bool write();

    /// Signs everything up to here, where there is something new, and takes care that it is on the disk. Goes on with
    /// another file where this one is full or of another day. A file that somebody has removed is written again, where
    /// its folder is there. False: see trouble().
    bool seal();

    const std::string& trouble() const { return trouble_; }  ///< empty: the latest write succeeded
    const std::string& damage() const
    {
        return damage_;
    }  ///< which file is not as it was written; empty: none is known
    bool has_unwritten() const { return written_ < text_.size(); }
    std::string_view unwritten() const { return std::string_view(text_).substr(written_); }
    bool is_sealed() const { return sealed_.number == chain_.last().number; }
    const chain_position& sealed() const { return sealed_; }  ///< the latest head
    const chain_position& last() const { return chain_.last(); }
    const std::string& key() const { return key_; }  ///< that signs in this file
    const std::filesystem::path& file() const { return file_path_; }
    bool is_new() const { return is_new_; }            ///< the audit began with this object
    bool was_stopped() const { return was_stopped_; }  ///< the server before this one ended in good order

private:
    void lock();
    void begin_audit();
    bool go_on_with(const audit_file& latest);
    void follow(const audit_file& latest, chain_check& check);
    void open_latest();
    void note_damage(const std::filesystem::path& file, const chain_fault& fault);
    void choose_key(const std::string& wanted);
    void mend_end(const chain_check& check);
    void look_at_head();
    void begin_file(const std::string& key);
    bool open_file();
    bool restore();
    bool check_file();
    bool add_head();
    bool enter_file();
    void retire();
    bool keep_last_line(const audit_file& oldest);
    void add_own(kind is, log::fields with);
    void write_head();
    bool is_due_for_next() const;
    bool fail(const std::string& what, const std::string& why);
    unique_fd open_own(const std::filesystem::path& file, int flags) const;

    journal_options how_;
    unique_fd lock_, file_, head_;
    key_folder keys_;
    chain chain_;
    chain_position sealed_, signed_;  // the latest head on the disk, and in memory
    std::string head_line_, key_;
    std::filesystem::path file_path_;
    std::string text_;         // lines, the first of which are in the file already
    std::size_t written_ = 0;  // bytes of it
    std::uint64_t file_size_ = 0, first_of_file_ = 0;
    std::string day_;  // of the file's first record
    std::string trouble_, damage_;
    bool is_new_ = false, was_stopped_ = true;
    bool is_misplaced_ = false;  // the file was not in its folder
    bool hands_over_ = false;    // the latest head is the last one of its file
    bool enters_ = false;        // a file was begun, and the key is still that of the one before
};

}  // namespace cmcp::audit
