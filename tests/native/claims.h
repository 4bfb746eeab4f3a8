// The smallest test harness that does: CLAIM(name) { … CHECK(condition); … }, and a program that runs the claim it
// is told by name.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace claims {

struct Claim {
    const char* name;
    void (*run)();
};

inline std::vector<Claim>& all() {
    static std::vector<Claim> list;
    return list;
}

inline bool add(const char* name, void (*run)()) {
    all().push_back({name, run});
    return true;
}

inline int run_named(const char* name) {
    for (const Claim& claim : all()) {
        if (std::strcmp(claim.name, name) != 0) continue;
        claim.run();
        return 0;
    }
    std::fprintf(stderr, "no claim is called %s\n", name);
    return 2;
}

}  // namespace claims

#define CLAIM(name)                                                 \
    static void name();                                             \
    static const bool name##_is_listed = claims::add(#name, &name); \
    static void name()

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::_Exit(1);                                                       \
        }                                                                        \
    } while (false)
