/* The least of a test framework: each CHECK counts, the first that fails in a test ends it. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

struct tally {
    int passed, failed;
};

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);        \
            return 0;                                                              \
        }                                                                          \
    } while (0)

#define CHECK_INT(found, expected)                                                 \
    do {                                                                           \
        long long found_ = (long long)(found), expected_ = (long long)(expected);  \
        if (found_ != expected_) {                                                 \
            printf("%s:%d: %s: expected %lld, found %lld\n", __FILE__, __LINE__,   \
                   #found, expected_, found_);                                     \
            return 0;                                                              \
        }                                                                          \
    } while (0)

struct test {
    const char *name;
    int (*run)(void);
};

static inline int run_tests(const struct test *tests, size_t count)
{
    struct tally tally = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int good = tests[i].run();
        printf("%s %s\n", good ? "ok  " : "FAIL", tests[i].name);
        *(good ? &tally.passed : &tally.failed) += 1;
    }
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}

#endif
