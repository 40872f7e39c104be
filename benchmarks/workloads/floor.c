// The least that a preloaded library can cost: every call of the malloc family goes on to the next
// allocator by a pointer, and nothing else is done. What a profiler costs beyond this is its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// Until a pointer is looked up, it leads to a function that does so and then goes the same way.
#define PASS(result, name, parameters, arguments)                        \
    static result first_##name parameters;                               \
    static result (*next_##name) parameters = first_##name;              \
    static result first_##name parameters {                              \
        *(void **)&next_##name = dlsym(RTLD_NEXT, #name);                \
        return next_##name arguments;                                    \
    }                                                                    \
    __attribute__((aligned(64))) result name parameters { return next_##name arguments; }

PASS(void *, malloc, (size_t size), (size))
PASS(void, free, (void *block), (block))
PASS(void *, calloc, (size_t count, size_t size), (count, size))
PASS(void *, realloc, (void *block, size_t size), (block, size))
PASS(void *, reallocarray, (void *block, size_t count, size_t size), (block, count, size))
PASS(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
PASS(void *, memalign, (size_t alignment, size_t size), (alignment, size))
PASS(int, posix_memalign, (void **place, size_t alignment, size_t size), (place, alignment, size))
PASS(size_t, malloc_usable_size, (void *block), (block))
