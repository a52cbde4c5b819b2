// Prints container/seccomp.json: `build/release/seccomp-profile > container/seccomp.json`.
#include "container/seccomp/profile.hpp"

#include <iostream>

int main() { std::cout << cmcp::container::seccomp_profile(); }
