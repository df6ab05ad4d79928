/* Loaded into the gateway with LD_PRELOAD: makes its disk fail and its clock step when a file says so.
 *
 * The file is mapped, so that looking costs nothing; `failing.rs` writes it. Only regular files are
 * concerned, and not the three standard streams. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The order is that of `Control` in `failing.rs`. */
struct control {
    int64_t clock_offset_s;
    int32_t write_errno;
    int32_t sync_errno;
    int32_t sync_delay_ms;
    /* The process is killed at the n-th operation from now on; 0: never. */
    int32_t kill_at;
    /* The n-th operation from now on fails; 0: none. */
    int32_t fail_at;
};

static struct control harmless;
static volatile struct control *control = &harmless;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("PORTCULLIS_FAULTS_CONTROL");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED) control = mapped;
}

static int is_file(int fd) {
    struct stat about;
    return fd > 2 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

static int is_due(volatile int32_t *counter) {
    return *counter > 0 && __sync_sub_and_fetch(counter, 1) == 0;
}

static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); }

/* Counts an operation; gives the error that it fails with, if it does. */
static int32_t fault_of(volatile int32_t *always) {
    return is_due(&control->fail_at) ? EIO : *always;
}

/* A write that fails, or in which the process dies, has put down half of its bytes. */
static ssize_t write_somewhere(long number, int fd, const void *bytes, size_t count, off_t offset) {
    if (is_file(fd)) {
        int dies = is_due(&control->kill_at);
        int32_t fault = fault_of(&control->write_errno);
        if (dies || fault) syscall(number, fd, bytes, count / 2, offset);
        if (dies) die();
        if (fault) { errno = fault; return -1; }
    }
    return syscall(number, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return write_somewhere(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return write_somewhere(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    return write_somewhere(SYS_write, fd, bytes, count, 0);
}

static int sync_somehow(long number, int fd) {
    if (is_file(fd)) {
        int32_t delay = control->sync_delay_ms;
        if (delay) {
            struct timespec pause = {delay / 1000, (delay % 1000) * 1000000L};
            nanosleep(&pause, NULL);
        }
        if (is_due(&control->kill_at)) die();
        int32_t fault = fault_of(&control->sync_errno);
        if (fault) { errno = fault; return -1; }
    }
    return (int)syscall(number, fd);
}

int fdatasync(int fd) { return sync_somehow(SYS_fdatasync, fd); }
int fsync(int fd) { return sync_somehow(SYS_fsync, fd); }

/* An operation that changes a directory or a length. */
static int is_refused(void) {
    if (is_due(&control->kill_at)) die();
    int32_t fault = fault_of(&control->write_errno);
    if (fault) errno = fault;
    return fault != 0;
}

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    if ((flags & O_CREAT) && is_refused()) return -1;
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

#define OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                    \
        va_list rest; va_start(rest, flags);                        \
        mode_t mode = va_arg(rest, mode_t); va_end(rest);           \
        return open_at(AT_FDCWD, path, flags, mode);                \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                \
    int name(int directory, const char *path, int flags, ...) {     \
        va_list rest; va_start(rest, flags);                        \
        mode_t mode = va_arg(rest, mode_t); va_end(rest);           \
        return open_at(directory, path, flags, mode);               \
    }
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to) {
    if (is_refused()) return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
    if (is_refused()) return -1;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int ftruncate(int fd, off_t length) {
    if (is_refused()) return -1;
    return (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate64(int fd, off_t length) {
    if (is_refused()) return -1;
    return (int)syscall(SYS_ftruncate, fd, length);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += control->clock_offset_s;
    return result;
}
