/* Measures the stack that each call of the library takes. The linker sends all calls of kl_NAME to
   __wrap_kl_NAME (--wrap): it paints what is below the stack, calls the function with the stack and
   the registers as the caller left them, and looks how far the paint is gone.

   A call from inside of a call, which a log hook makes, goes straight through, and spoils the
   outer one, whose figure would be that of the hook: it is left out. */
    .syntax unified
    .thumb
    .set SPAN, 8192
    .set PAINT, 0xc5a3c5a3

    .bss
    .balign 4
/* depth 0 or 1, spoilt, lr, r4, function, its line in the table */
state:
    .space 24

    .macro WRAP name
    .section .rodata.\name, "a"
name_\name:
    .asciz "\name"
    .section stack_table, "aw"
    .balign 4
line_\name:
    .word name_\name, 0
    .section .text.\name, "ax"
    .balign 4
    .global __wrap_\name
    .thumb_func
__wrap_\name:
    push {r0-r3}
    ldr r0, =__real_\name
    ldr r1, =line_\name
    b measure
    .ltorg
    .endm

    .section .text.measure, "ax"
    .balign 4
    .thumb_func
measure:
    ldr r2, =state
    ldr r3, [r2]
    cbz r3, outermost
    str r3, [r2, #4]
    mov r12, r0
    pop {r0-r3}
    bx r12
outermost:
    movs r3, #1
    str r3, [r2]
    movs r3, #0
    str r3, [r2, #4]
    str lr, [r2, #8]
    str r4, [r2, #12]
    str r0, [r2, #16]
    str r1, [r2, #20]
    ldr r0, =PAINT
    mov r1, sp
    sub r3, r1, #SPAN
paint:
    str r0, [r3], #4
    cmp r3, r1
    bne paint
    ldr r4, [r2, #16]
    pop {r0-r3}
    blx r4

    /* r0 and r1 have what it returned. */
    mov r2, sp
    sub r3, r2, #SPAN
    sub r3, r3, #16
    ldr r12, =PAINT
look:
    ldr r4, [r3], #4
    cmp r4, r12
    beq look
    sub r3, r3, #4
    subs r2, r2, r3
    ldr r3, =state
    movs r4, #0
    str r4, [r3]
    ldr r4, [r3, #4]
    cbnz r4, leave
    ldr r4, [r3, #20]
    ldr r12, [r4, #4]
    cmp r2, r12
    it hi
    strhi r2, [r4, #4]
leave:
    ldr r4, [r3, #12]
    ldr lr, [r3, #8]
    bx lr
    .ltorg

    .include "wraps.s"
