/* A program that uses the helpers that a library from Rust likes to bring along: it must get them
   from its own C library and compiler. */
#include <stdio.h>
#include <string.h>

#include <kubelease.h>

#ifdef WITH_SECOND
uint32_t second_sum(const uint8_t *data, size_t len);
#endif

int main(int argc, char **argv)
{
    static kl_elector elector;
    char text[64];
    volatile uint64_t wide = (uint64_t)argc << 40;
    volatile double number = argc;
    memset(text, argc, sizeof text);
    memcpy(text, argv[0], strlen(argv[0]) < sizeof text ? strlen(argv[0]) : sizeof text);
    number = number * 1.5;
    wide = wide / ((uint64_t)argc + 2);
    printf("%d %d\n", wide > 0, (int)number);
#ifdef WITH_SECOND
    if (second_sum((const uint8_t *)"\1\2\3", 3) != 6)
        return 2;
#endif
    return kl_elector_is_leading(&elector, 0);
}
