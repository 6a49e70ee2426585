/* Stands between a program and the system's calls that change files (LD_PRELOAD): makes a chosen one fail, or writes
 * all of them down. Only what happens below a given folder counts; the rest passes.
 * Nor does SQLite's `-shm` count: it is memory that processes share, and is made anew after a crash.
 *
 *   CAIRN_FAULT_BELOW   the folder, absolute
 *   CAIRN_FAULT_AT      which call fails, counted from 1
 *   CAIRN_FAULT_HOW     undone   it fails with EIO and does nothing
 *                       done     it does its work and then reports EIO
 *                       full     it fails with ENOSPC and does nothing
 *                       short    a write takes half of the bytes; the next write fails with ENOSPC
 *                       off      it and all that follow fail with EIO and do nothing, as when a disk goes away
 *   CAIRN_FAULT_TRACE   a file to which every call is added: a line of its name (`nothing` if it failed), two paths, a
 *                       place and a number of bytes, separated by tabs, and the bytes; and what is written to
 *                       standard output, as `answer`
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls, fails_at, next_write_fails;
static const char *below, *how = "";
static int trace_file = -1;

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("CAIRN_FAULT_AT"), *given = getenv("CAIRN_FAULT_HOW");
  const char *trace = getenv("CAIRN_FAULT_TRACE");
  below = getenv("CAIRN_FAULT_BELOW");
  fails_at = at ? atol(at) : 0;
  if (given) how = given;
  if (trace) trace_file = syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

static int is_how(const char *word) { return strcmp(how, word) == 0; }

/* Whether an absolute path counts. */
static int is_below(const char *path) {
  size_t length = below ? strlen(below) : 0, all = strlen(path);
  if (!length || strncmp(path, below, length) != 0 || (path[length] != '/' && path[length] != 0)) return 0;
  return all < 4 || strcmp(path + all - 4, "-shm") != 0;
}

static const char *path_of_file(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
  return path;
}

static const char *path_of_name(int folder, const char *name, char *path) {
  char start[PATH_MAX] = "";
  if (name[0] == '/') return name;
  if (folder != AT_FDCWD) path_of_file(folder, start);
  else if (!getcwd(start, sizeof start)) start[0] = 0;
  snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2, start, name);
  return path;
}

/* What is to become of a call. */
enum fate { PASSES, FAILS, FAILS_AFTERWARDS, IS_SHORT };

/* Decides, with the lock held until `after`. */
static enum fate before(const char *path, int writes) {
  pthread_mutex_lock(&lock);
  if (!is_below(path)) return PASSES;
  long number = ++calls;
  if (writes && next_write_fails) {
    next_write_fails = 0;
    errno = ENOSPC;
    return FAILS;
  }
  if (!fails_at || number < fails_at || (number > fails_at && !is_how("off"))) return PASSES;
  if (is_how("done")) return FAILS_AFTERWARDS;
  if (is_how("short")) {
    next_write_fails = writes;
    return writes ? IS_SHORT : PASSES;
  }
  errno = is_how("full") ? ENOSPC : EIO;
  return FAILS;
}

static long after(enum fate fate, long result, const char *name, const char *path, const char *other, long place,
                  const void *bytes) {
  int error = errno;
  if (trace_file >= 0 && (is_below(path) || strcmp(name, "answer") == 0)) {
    char line[2 * PATH_MAX + 128];
    long length = bytes && result > 0 ? result : 0;
    if (result < 0) name = "nothing";
    int chars = snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%ld\n", name, path, other, place, length);
    struct iovec parts[] = {{line, chars}, {(void *)bytes, length}};
    syscall(SYS_writev, trace_file, parts, 2);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  if (fate == FAILS_AFTERWARDS && result >= 0) {
    errno = EIO;
    return -1;
  }
  return result;
}

static ssize_t write_at(int file, const void *bytes, size_t length, long place) {
  char path[PATH_MAX];
  path_of_file(file, path);
  enum fate fate = before(path, 1);
  if (fate == FAILS) return after(fate, -1, "write", path, "", place, 0);
  if (fate == IS_SHORT) length /= 2;
  if (trace_file >= 0 && place < 0 && file > 2) {
    /* Where it stands if it is not said; at the end of a file that is only added to. */
    struct stat found;
    place = fcntl(file, F_GETFL) & O_APPEND && fstat(file, &found) == 0 ? found.st_size : lseek(file, 0, SEEK_CUR);
    long result = syscall(SYS_write, file, bytes, length);
    return after(fate, result, "write", path, "", place, bytes);
  }
  long result = place < 0 ? syscall(SYS_write, file, bytes, length) : syscall(SYS_pwrite64, file, bytes, length, place);
  return after(fate, result, file == 1 ? "answer" : "write", path, "", place, bytes);
}

ssize_t write(int file, const void *bytes, size_t length) { return write_at(file, bytes, length, -1); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t place) { return write_at(file, bytes, length, place); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t place) {
  return write_at(file, bytes, length, place);
}

/* Part by part: whoever calls it must expect fewer bytes to be taken than were given. */
ssize_t writev(int file, const struct iovec *parts, int count) {
  for (int part = 0; part < count; part++)
    if (parts[part].iov_len) return write_at(file, parts[part].iov_base, parts[part].iov_len, -1);
  return 0;
}

static int on_file(const char *name, int file, long number, long argument) {
  char path[PATH_MAX];
  path_of_file(file, path);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(number, file, argument);
  return after(fate, result, name, path, "", argument, 0);
}

int fsync(int file) { return on_file("sync", file, SYS_fsync, 0); }
int fdatasync(int file) { return on_file("sync", file, SYS_fdatasync, 0); }
int ftruncate(int file, off_t length) { return on_file("truncate", file, SYS_ftruncate, length); }
int ftruncate64(int file, off64_t length) { return on_file("truncate", file, SYS_ftruncate, length); }

int renameat(int folder, const char *name, int other_folder, const char *other) {
  char from[PATH_MAX], to[PATH_MAX];
  const char *path = path_of_name(folder, name, from), *path_after = path_of_name(other_folder, other, to);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(SYS_renameat2, folder, name, other_folder, other, 0);
  return after(fate, result, "rename", path, path_after, 0, 0);
}
int rename(const char *name, const char *other) { return renameat(AT_FDCWD, name, AT_FDCWD, other); }

int linkat(int folder, const char *name, int other_folder, const char *other, int flags) {
  char from[PATH_MAX], to[PATH_MAX];
  const char *path = path_of_name(folder, name, from), *path_after = path_of_name(other_folder, other, to);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(SYS_linkat, folder, name, other_folder, other, flags);
  return after(fate, result, "link", path, path_after, 0, 0);
}
int link(const char *name, const char *other) { return linkat(AT_FDCWD, name, AT_FDCWD, other, 0); }

int unlinkat(int folder, const char *name, int flags) {
  char from[PATH_MAX];
  const char *path = path_of_name(folder, name, from);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(SYS_unlinkat, folder, name, flags);
  return after(fate, result, "unlink", path, "", 0, 0);
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int mkdirat(int folder, const char *name, mode_t mode) {
  char from[PATH_MAX];
  const char *path = path_of_name(folder, name, from);
  struct stat found;
  /* One that is there already is asked for all the time, and nothing is changed. */
  if (stat(path, &found) == 0) return syscall(SYS_mkdirat, folder, name, mode);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(SYS_mkdirat, folder, name, mode);
  return after(fate, result, "mkdir", path, "", 0, 0);
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* Opening counts if it makes or empties a file. */
static int open_at(int folder, const char *name, int flags, mode_t mode) {
  char from[PATH_MAX];
  struct stat found;
  const char *path = path_of_name(folder, name, from);
  int exists = stat(path, &found) == 0;
  int empties = exists && (flags & O_TRUNC) && found.st_size > 0;
  if (!empties && (exists || !(flags & O_CREAT))) return syscall(SYS_openat, folder, name, flags, mode);
  enum fate fate = before(path, 0);
  long result = fate == FAILS ? -1 : syscall(SYS_openat, folder, name, flags, mode);
  if (fate == FAILS_AFTERWARDS && result >= 0) syscall(SYS_close, result);
  return after(fate, result, empties ? "truncate" : "create", path, "", 0, 0);
}

/* The mode is given only where a file may be made. */
static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    return open_at(AT_FDCWD, path, flags, mode); \
  }
#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    return open_at(folder, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
