// A server's life as P.-A. Larson and M. Krishnan describe it in "Memory allocation for long-running
// server applications" (ISMM 1998): each thread has an array of blocks of random sizes and replaces
// randomly chosen ones; then it hands the array to a new thread, and ends, so that most blocks are
// freed by another thread than the one that allocated them. The amount of work is fixed.
//   larson THREADS GENERATIONS REPLACEMENTS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 5000, SMALLEST = 8, LARGEST = 1000 };

struct array {
    char *blocks[SLOTS];
    uint64_t random;
    long generations;
    long replacements;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
};

static uint64_t next(struct array *array) {
    array->random ^= array->random << 13;
    array->random ^= array->random >> 7;
    array->random ^= array->random << 17;
    return array->random >> 11;
}

static void replace(struct array *array, long slot) {
    free(array->blocks[slot]);
    size_t size = SMALLEST + next(array) % (LARGEST - SMALLEST + 1);
    char *block = malloc(size);
    block[0] = 1;
    block[size - 1] = 1;
    array->blocks[slot] = block;
}

static void *generation(void *argument);

static void start(struct array *array) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, generation, array) != 0) abort();
    pthread_detach(thread);
}

static void tell_end(struct array *array) {
    pthread_mutex_lock(&array->mutex);
    array->generations = -1;
    pthread_cond_signal(&array->ended);
    pthread_mutex_unlock(&array->mutex);
}

static void *generation(void *argument) {
    struct array *array = argument;
    for (long index = 0; index < array->replacements; index++) replace(array, next(array) % SLOTS);
    if (--array->generations > 0)
        start(array);
    else
        tell_end(array);
    return NULL;
}

static struct array *begin(uint64_t seed, long generations, long replacements) {
    struct array *array = calloc(1, sizeof *array);
    array->random = seed * 0x9E3779B97F4A7C15;
    array->generations = generations;
    array->replacements = replacements;
    pthread_mutex_init(&array->mutex, NULL);
    pthread_cond_init(&array->ended, NULL);
    for (long slot = 0; slot < SLOTS; slot++) replace(array, slot);
    start(array);
    return array;
}

static void end(struct array *array) {
    pthread_mutex_lock(&array->mutex);
    while (array->generations >= 0) pthread_cond_wait(&array->ended, &array->mutex);
    pthread_mutex_unlock(&array->mutex);
    for (long slot = 0; slot < SLOTS; slot++) free(array->blocks[slot]);
    free(array);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    long threads = atol(arguments[1]);
    struct array **arrays = calloc(threads, sizeof *arrays);
    for (long index = 0; index < threads; index++)
        arrays[index] = begin(index + 1, atol(arguments[2]), atol(arguments[3]));
    for (long index = 0; index < threads; index++) end(arrays[index]);
    free(arrays);
    return 0;
}
