// Replaces blocks of 16 B to 4 KiB at random, 200,000 of which live at a time: what an allocator makes of
// that shows after long. Prints the resident memory at the end, in KiB. Usage: churn PAIRS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE = 200000 };

static char *blocks[LIVE];
static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// As many in each doubling.
static size_t size(void) {
    unsigned bits = 4 + next() % 8;
    return (1u << bits) + next() % (1u << bits);
}

static long resident(void) {
    long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) return -1;
    fclose(file);
    return pages * 4;
}

int main(int count, char **arguments) {
    long pairs = count > 1 ? atol(arguments[1]) : 1000000;
    for (long pair = 0; pair < pairs; pair++) {
        size_t place = next() % LIVE, bytes = size();
        free(blocks[place]);
        blocks[place] = malloc(bytes);
        if (!blocks[place]) return 1;
        memset(blocks[place], 1, bytes);
    }
    printf("%ld\n", resident());
    return 0;
}
