// Runs a command and leaves in a file what it and its children used:
//   measure FILE [@N | @^N] [NAME=VALUE]... -- COMMAND...
// writes `user_us system_us wall_us peak_kib`. The settings are for the command alone. @N has it run on
// processor N, @^N on all others. It calls no malloc before the command has ended (without settings), so
// under a recorder it leaves no sample.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void leave(const char *file, const struct rusage *used, long long wall) {
    char text[128];
    int length = snprintf(text, sizeof text, "%lld %lld %lld %ld\n", microseconds(used->ru_utime),
                          microseconds(used->ru_stime), wall, used->ru_maxrss);
    int descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || write(descriptor, text, length) != length) _exit(125);
    close(descriptor);
}

static int pin(const char *place) {
    cpu_set_t set;
    int is_not = place[0] == '^', number = atoi(place + is_not);
    CPU_ZERO(&set);
    for (int at = 0; at < CPU_SETSIZE; at++)
        if ((at == number) != is_not) CPU_SET(at, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

int main(int count, char **arguments) {
    int at = 2;
    if (at < count && arguments[at][0] == '@' && pin(arguments[at++] + 1) != 0) return 125;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++) putenv(arguments[at]);
    if (at + 1 >= count) return 125;
    long long start = now();
    pid_t child;
    if (posix_spawnp(&child, arguments[at + 1], NULL, NULL, arguments + at + 1, environ) != 0) return 127;
    int status;
    struct rusage used;
    if (wait4(child, &status, 0, &used) != child) return 125;
    leave(arguments[1], &used, now() - start);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
