// A heap of so many MiB (1024 if nothing is said) of small blocks that point to each other, and the time that its end
// takes: what the look for lost blocks costs is the difference to a run without it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next, *other;
    uint64_t number;
    char text[72];
};

struct node **table;

int main(int count, char **arguments) {
    size_t bytes = (count > 1 ? strtoull(arguments[1], NULL, 10) : 1024) << 20;
    size_t nodes = bytes / (sizeof(struct node) + 8), seed = 1;
    struct node *last = NULL;
    table = malloc(nodes * sizeof *table);
    if (table == NULL) return 1;
    for (size_t at = 0; at < nodes; at++) {
        struct node *node = malloc(sizeof *node);
        if (node == NULL) return 1;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        *node = (struct node){ last, at ? table[(seed >> 33) % at] : NULL, at, "some text, which is no pointer" };
        table[at] = last = node;
    }
    // One in a thousand is lost.
    for (size_t at = 0; at < nodes / 1000; at++)
        if (malloc(sizeof(struct node)) == NULL) return 1;
    printf("%zu\n", nodes);
    return 0;
}
