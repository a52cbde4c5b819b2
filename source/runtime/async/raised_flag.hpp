#pragma once

#include "async/event.hpp"

namespace cmcp {

/// A flag that is true as long as this lives; `ended` is told of its end.
class raised_flag {
public:
    explicit raised_flag(bool& flag, event* ended = nullptr) : flag_(flag), ended_(ended) { flag_ = true; }
    raised_flag(const raised_flag&) = delete;
    raised_flag& operator=(const raised_flag&) = delete;
    ~raised_flag()
    {
        flag_ = false;
        if (ended_ != nullptr) ended_->notify();
    }

private:
    bool& flag_;
    event* ended_;
};

}  // namespace cmcp
