/* What a program takes on a Cortex-M3 of QEMU: a vector table, main, and at its end what measure.S
   has seen. Printing and the exit status go over semihosting, by newlib's rdimon. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A line for each function of the library, see measure.S. */
struct depth {
    const char *name;
    uint32_t deepest;
};

extern struct depth __start_stack_table[], __stop_stack_table[];
extern uint32_t stack_top;
void initialise_monitor_handles(void);
int main(void);

void reset(void);

void reset(void)
{
    initialise_monitor_handles();
    int failed = main();
    for (struct depth *it = __start_stack_table; it != __stop_stack_table; it++)
        if (it->deepest != 0)
            printf("stack %lu %s\n", (unsigned long)it->deepest, it->name);
    exit(failed);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {&stack_top, reset};
