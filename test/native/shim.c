/**
 * Loaded before a program (LD_PRELOAD), fails, shortens or delays its system calls on the files of an LMDB directory.
 *
 *   FAULT_CALL   write, fsync, ftruncate or mmap
 *   FAULT_AT     which of these calls fails, from 1; 0: none
 *   FAULT_ERRNO  with what
 *   FAULT_SHORT  a write is cut in half instead
 *   FAULT_LOG    a file that gets the number of these calls at the end
 *   KILL_AT      the process kills itself right after this write of a header page
 *   DELAY_MS     every mmap of such a file takes so long
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <signal.h>
#include <unistd.h>

static int numberOf(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static int isOfLmdb(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 4) return 0;
  path[length] = 0;
  return strcmp(path + length - 4, ".mdb") == 0;
}

static int calls = 0;

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("FAULT_LOG");
  FILE *log = path ? fopen(path, "w") : NULL;
  if (!log) return;
  fprintf(log, "%d", calls);
  fclose(log);
}

/** True: this very call is the one to fail. */
static int isHit(const char *call, int file) {
  const char *wanted = getenv("FAULT_CALL");
  if (!wanted || strcmp(wanted, call) != 0 || !isOfLmdb(file)) return 0;
  return __sync_add_and_fetch(&calls, 1) == numberOf("FAULT_AT", 0);
}

static int isShort(void) { return getenv("FAULT_SHORT") != NULL; }

static int fail(void) {
  errno = numberOf("FAULT_ERRNO", EIO);
  return -1;
}

#define REAL(type, name, ...)                     \
  static type (*real)(__VA_ARGS__);               \
  if (!real) real = dlsym(RTLD_NEXT, name);

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)
  static int headers = 0;
  if (getenv("KILL_AT") && at < 8192 && isOfLmdb(file)) {
    ssize_t written = real(file, bytes, count, at);
    if (++headers == numberOf("KILL_AT", 0)) raise(SIGKILL);
    return written;
  }
  if (!isHit("write", file)) return real(file, bytes, count, at);
  return isShort() && count > 1 ? real(file, bytes, count / 2, at) : fail();
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  return pwrite64(file, bytes, count, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int)
  if (!isHit("write", file)) return real(file, parts, count);
  return isShort() ? real(file, parts, 1) : fail();
}
ssize_t write(int file, const void *bytes, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t)
  if (!isHit("write", file)) return real(file, bytes, count);
  return isShort() && count > 1 ? real(file, bytes, count / 2) : fail();
}
int fdatasync(int file) {
  REAL(int, "fdatasync", int)
  return isHit("fsync", file) ? fail() : real(file);
}
int fsync(int file) {
  REAL(int, "fsync", int)
  return isHit("fsync", file) ? fail() : real(file);
}
int ftruncate64(int file, off64_t length) {
  REAL(int, "ftruncate64", int, off64_t)
  return isHit("ftruncate", file) ? fail() : real(file, length);
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

void *mmap64(void *address, size_t length, int protection, int flags, int file, off64_t at) {
  REAL(void *, "mmap64", void *, size_t, int, int, int, off64_t)
  if (file >= 0 && isOfLmdb(file)) {
    usleep(1000 * numberOf("DELAY_MS", 0));
    if (isHit("mmap", file)) {
      fail();
      return MAP_FAILED;
    }
  }
  return real(address, length, protection, flags, file, at);
}
void *mmap(void *address, size_t length, int protection, int flags, int file, off_t at) {
  return mmap64(address, length, protection, flags, file, at);
}
