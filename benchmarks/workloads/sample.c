// Allocates and frees a block at the bottom of a stack of calls, as often as the second argument
// says, each time from other callers: of four functions with frames of different sizes, chance
// picks one at each level of the inner half of the stack; the outer half stays, as in real programs.
//   sample DEPTH BLOCKS
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK = 512 };

static uint64_t random_state = 88172645463325252;

static uint64_t next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static long descend(int left, int inner, uint64_t path);

// What is done after the call keeps it from being a jump; the volatile bytes make the frame's size.
#define LEVEL(name, bytes)                                                   \
    __attribute__((noinline)) static long name(int left, int inner, uint64_t path) { \
        volatile char frame[bytes];                                          \
        frame[0] = (char)left;                                               \
        return descend(left - 1, inner, path) + frame[0];                    \
    }

LEVEL(level_a, 8)
LEVEL(level_b, 40)
LEVEL(level_c, 104)
LEVEL(level_d, 232)

__attribute__((noinline)) static long leaf(void) {
    char *volatile block = malloc(BLOCK);
    block[0] = 1;
    free(block);
    return 1;
}

// Inlined into each level: one level of depth is one frame.
__attribute__((always_inline)) static inline long descend(int left, int inner, uint64_t path) {
    if (left <= 0) return leaf();
    if (left > inner) return level_a(left, inner, path);
    uint64_t rest = path >> 2 | path << 62;
    switch (path & 3) {
    case 0: return level_a(left, inner, rest);
    case 1: return level_b(left, inner, rest);
    case 2: return level_c(left, inner, rest);
    default: return level_d(left, inner, rest);
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    // main, leaf, and what comes before main are frames too: malloc's caller up to _start are 5.
    int levels = atoi(arguments[1]) - 5;
    long blocks = atol(arguments[2]), sum = 0;
    for (long index = 0; index < blocks; index++) sum += descend(levels, levels / 2, next());
    return sum == 0;
}
