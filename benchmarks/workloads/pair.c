// As many pairs of malloc and free as the argument says, and nothing else.
#include <stdlib.h>

int main(int count, char **arguments) {
    long pairs = count > 1 ? atol(arguments[1]) : 0;
    for (long index = 0; index < pairs; index++) {
        void *volatile block = malloc(32 + (index & 63));
        free(block);
    }
    return 0;
}
