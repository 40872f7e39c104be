// Keeps so many blocks of 256 bytes, which came by some 30,000 ways, and replaces 2,000 of them a second: what a page costs
// that shows such a heap. Prints a line once it has them all, and ends when it is killed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 256, DEPTH = 6, EACH = 20 };

static uint64_t state = 1;

static unsigned draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

#define SITE(number)                                                \
    __attribute__((noinline)) static void *site_##number(void) {    \
        void *block = malloc(BYTES);                                \
        if (block == NULL) abort();                                 \
        memset(block, number, BYTES);                               \
        return block;                                               \
    }
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)

static void *(*const sites[])(void) = { site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7 };

static void *way(int depth, unsigned which);

#define STEP(number)                                                              \
    __attribute__((noinline)) static void *step_##number(int depth, unsigned which) { \
        void *block = way(depth - 1, which / 4);                                  \
        __asm__ volatile("" : : "r"(block));                                      \
        return block;                                                             \
    }
STEP(0) STEP(1) STEP(2) STEP(3)

// Which way it goes, a digit at a time.
__attribute__((noinline)) static void *way(int depth, unsigned which) {
    void *block;
    if (depth == 0) return sites[which % 8]();
    switch (which % 4) {
    case 0: block = step_0(depth, which); break;
    case 1: block = step_1(depth, which); break;
    case 2: block = step_2(depth, which); break;
    default: block = step_3(depth, which);
    }
    __asm__ volatile("" : : "r"(block));
    return block;
}

int main(int count, char **arguments) {
    size_t blocks = count > 1 ? strtoull(arguments[1], NULL, 10) : 160000;
    void **kept = calloc(blocks, sizeof *kept);
    struct timespec moment = { 0, 10000000 };
    if (kept == NULL) return 1;
    for (size_t at = 0; at < blocks; at++) kept[at] = way(DEPTH, draw());
    puts("ready");
    fflush(stdout);
    for (;;) {
        for (int number = 0; number < EACH; number++) {
            void **block = &kept[draw() % blocks];
            free(*block);
            *block = way(DEPTH, draw());
        }
        nanosleep(&moment, NULL);
    }
}
