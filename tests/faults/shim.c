// A fault at the n-th system call of a process on its own folder.
//
// A seccomp filter turns every call that may touch a file into a signal of the same thread (SIGSYS).
// Its handler sees the arguments, finds out whether the call is on the folder or on one of the
// standard streams, and then makes the call itself, or has it fail, or ends the process. So no call
// is missed, whoever makes it (Python, NumPy, C++, the C library), and no other process is needed.
// Linux on x86-64 and AArch64.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST 8192
#define WIDTH 120

enum mode { ONCE = 0, FULL_DISK = 1, READ_ONLY = 2, NO_THREADS = 3 };
enum kind { PATH, PATH_AT, TWO_PATHS, TWO_PATHS_AT, DESCRIPTOR, TWO_DESCRIPTORS, MAPPING, MASK };

// What the parent reads afterwards; it is in memory that both share.
struct record {
  atomic_long calls;
  atomic_long hit;  // 1 if the fault happened
  struct {
    char name[16];
    char path[WIDTH];
  } call[MOST];
};

struct known {
  long number;
  const char *name;
  enum kind kind;
  int changes;   // it fails on a disk that is read-only
  int allocates; // it fails on a disk that is full
};

static const struct known KNOWN[] = {
#ifdef SYS_open
    {SYS_open, "open", PATH, 0, 0},
    {SYS_creat, "creat", PATH, 1, 1},
    {SYS_stat, "stat", PATH, 0, 0},
    {SYS_lstat, "lstat", PATH, 0, 0},
    {SYS_access, "access", PATH, 0, 0},
    {SYS_rename, "rename", TWO_PATHS, 1, 0},
    {SYS_mkdir, "mkdir", PATH, 1, 1},
    {SYS_rmdir, "rmdir", PATH, 1, 0},
    {SYS_link, "link", TWO_PATHS, 1, 1},
    {SYS_unlink, "unlink", PATH, 1, 0},
    {SYS_symlink, "symlink", TWO_PATHS, 1, 1},
    {SYS_readlink, "readlink", PATH, 0, 0},
    {SYS_chmod, "chmod", PATH, 1, 0},
#endif
    {SYS_openat, "openat", PATH_AT, 0, 0},
    {SYS_newfstatat, "newfstatat", PATH_AT, 0, 0},
    {SYS_statx, "statx", PATH_AT, 0, 0},
    {SYS_faccessat, "faccessat", PATH_AT, 0, 0},
#ifdef SYS_faccessat2
    {SYS_faccessat2, "faccessat2", PATH_AT, 0, 0},
#endif
    {SYS_mkdirat, "mkdirat", PATH_AT, 1, 1},
    {SYS_unlinkat, "unlinkat", PATH_AT, 1, 0},
    {SYS_readlinkat, "readlinkat", PATH_AT, 0, 0},
    {SYS_fchmodat, "fchmodat", PATH_AT, 1, 0},
    {SYS_utimensat, "utimensat", PATH_AT, 1, 0},
#ifdef SYS_renameat
    {SYS_renameat, "renameat", TWO_PATHS_AT, 1, 0},
#endif
    {SYS_renameat2, "renameat2", TWO_PATHS_AT, 1, 0},
    {SYS_linkat, "linkat", TWO_PATHS_AT, 1, 1},
    {SYS_symlinkat, "symlinkat", TWO_PATHS_AT, 1, 1},
    {SYS_truncate, "truncate", PATH, 1, 1},
    {SYS_statfs, "statfs", PATH, 0, 0},
    {SYS_chdir, "chdir", PATH, 0, 0},
    {SYS_getxattr, "getxattr", PATH, 0, 0},
    {SYS_listxattr, "listxattr", PATH, 0, 0},
    {SYS_setxattr, "setxattr", PATH, 1, 1},
    {SYS_read, "read", DESCRIPTOR, 0, 0},
    {SYS_write, "write", DESCRIPTOR, 1, 1},
    {SYS_readv, "readv", DESCRIPTOR, 0, 0},
    {SYS_writev, "writev", DESCRIPTOR, 1, 1},
    {SYS_pread64, "pread64", DESCRIPTOR, 0, 0},
    {SYS_pwrite64, "pwrite64", DESCRIPTOR, 1, 1},
    {SYS_preadv, "preadv", DESCRIPTOR, 0, 0},
    {SYS_pwritev, "pwritev", DESCRIPTOR, 1, 1},
    {SYS_close, "close", DESCRIPTOR, 0, 0},
    {SYS_fstat, "fstat", DESCRIPTOR, 0, 0},
    {SYS_fstatfs, "fstatfs", DESCRIPTOR, 0, 0},
    {SYS_lseek, "lseek", DESCRIPTOR, 0, 0},
    {SYS_flock, "flock", DESCRIPTOR, 0, 0},
    {SYS_fcntl, "fcntl", DESCRIPTOR, 0, 0},
    {SYS_fsync, "fsync", DESCRIPTOR, 1, 1},
    {SYS_fdatasync, "fdatasync", DESCRIPTOR, 1, 1},
    {SYS_ftruncate, "ftruncate", DESCRIPTOR, 1, 1},
    {SYS_fallocate, "fallocate", DESCRIPTOR, 1, 1},
    {SYS_fchmod, "fchmod", DESCRIPTOR, 1, 0},
    {SYS_getdents64, "getdents64", DESCRIPTOR, 0, 0},
    {SYS_sendfile, "sendfile", TWO_DESCRIPTORS, 1, 1},
    {SYS_copy_file_range, "copy_file_range", DESCRIPTOR, 1, 1},
    {SYS_mmap, "mmap", MAPPING, 0, 0},
    {SYS_rt_sigprocmask, "rt_sigprocmask", MASK, 0, 0},
};
#define COUNT (int)(sizeof KNOWN / sizeof KNOWN[0])

static struct record *record;
static char folder[256];
static size_t folder_length;
static enum mode mode;
static long when;   // the number of the call, or of the first of those that fail
static int fault;   // below 0 a signal, above an error number, 0: only record

// The one place whose calls the filter lets through.
extern char after_gate[];
__attribute__((noinline, noclone)) static long gate(long number, const long *a) {
#if defined(__x86_64__)
  long result;
  register long d __asm__("r10") = a[3];
  register long e __asm__("r8") = a[4];
  register long f __asm__("r9") = a[5];
  __asm__ volatile("syscall\n.globl after_gate\nafter_gate:\n"
                   : "=a"(result)
                   : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(d), "r"(e), "r"(f)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a[0];
  register long x1 __asm__("x1") = a[1];
  register long x2 __asm__("x2") = a[2];
  register long x3 __asm__("x3") = a[3];
  register long x4 __asm__("x4") = a[4];
  register long x5 __asm__("x5") = a[5];
  __asm__ volatile("svc 0\n.globl after_gate\nafter_gate:\n"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#endif
}

static int inside(const char *path) {
  return strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

static int of_descriptor(long descriptor, char *where) {
  if (descriptor < 0) return 0;
  char link[32] = "/proc/self/fd/";
  char digits[12];
  int length = 0;
  for (long rest = descriptor; rest || !length; rest /= 10) digits[length++] = '0' + rest % 10;
  size_t end = strlen(link);
  while (length) link[end++] = digits[--length];
  link[end] = 0;
  long arguments[6] = {AT_FDCWD, (long)link, (long)where, 255};
  long found = gate(SYS_readlinkat, arguments);
  if (found <= 0) return 0;
  where[found] = 0;
  return inside(where) || (descriptor < 3 && strcmp(where, "/dev/null") != 0);
}

// Is it on the folder? Then `where` says where. A relative path is: the folder is the current one.
static int of_path(long directory, const char *path, char *where) {
  if (!path) return 0;
  if (path[0] == 0) return of_descriptor((int)directory, where);
  if (path[0] != '/' && (int)directory != AT_FDCWD && !of_descriptor((int)directory, where)) return 0;
  strncpy(where, path, 255);
  where[255] = 0;
  return path[0] != '/' || inside(path);
}

static int is_own(const struct known *call, const long *a, char *where) {
  switch (call->kind) {
    case PATH: return of_path(AT_FDCWD, (const char *)a[0], where);
    case PATH_AT: return of_path(a[0], (const char *)a[1], where);
    case TWO_PATHS:
      return of_path(AT_FDCWD, (const char *)a[0], where) || of_path(AT_FDCWD, (const char *)a[1], where);
    case TWO_PATHS_AT:
      return of_path(a[0], (const char *)a[1], where) || of_path(a[2], (const char *)a[3], where);
    case DESCRIPTOR: return of_descriptor(a[0], where);
    case TWO_DESCRIPTORS: return of_descriptor(a[0], where) || of_descriptor(a[1], where);
    case MAPPING: return !(a[3] & MAP_ANONYMOUS) && of_descriptor(a[4], where);
    case MASK: return 0;
  }
  return 0;
}

static int flags_of(const struct known *call, const long *a) {
#ifdef SYS_open
  if (call->number == SYS_open) return (int)a[1];
#endif
  return call->number == SYS_openat ? (int)a[2] : 0;
}

// Is this one of the calls that are counted in this mode?
static int counts(const struct known *call, const long *a, char *where) {
  if (!is_own(call, a, where)) return 0;
  if (mode == ONCE) return 1;
  if (call->kind == DESCRIPTOR && a[0] < 3) return 0;  // the streams are on another disk
  int flags = flags_of(call, a);
  if (mode == FULL_DISK) return call->allocates || (flags & O_CREAT);
  return call->changes || (flags & (O_CREAT | O_WRONLY | O_RDWR));
}

static long decide(const struct known *call, const long *a) {
  char where[256];
  if (!counts(call, a, where)) return gate(call->number, a);
  long mine = atomic_fetch_add(&record->calls, 1);
  if (mine < MOST) {
    strncpy(record->call[mine].name, call->name, sizeof record->call[mine].name - 1);
    strncpy(record->call[mine].path, inside(where) ? where + folder_length : where, WIDTH - 1);
  }
  int now = fault != 0 && (mode == ONCE ? mine == when : mine >= when);
  if (!now) return gate(call->number, a);
  atomic_store(&record->hit, 1);
  if (fault > 0) {
    if (call->number == SYS_close) gate(call->number, a);  // a descriptor is gone in any case
    return -fault;
  }
  if (fault == -SIGKILL) kill(getpid(), SIGKILL);
  long result = gate(call->number, a);
  kill(getpid(), -fault);  // delivered when the handler returns
  return result;
}

// Whoever blocks all signals must not block ours: the system would end the process. A mask that is
// set in a handler is gone when it returns, except for the one that it returns to.
static long set_mask(const long *a, uint64_t *mask) {
  const uint64_t *wanted = (const uint64_t *)a[1];
  uint64_t before = *mask;
  if (wanted) {
    uint64_t set = *wanted;
    if (a[0] == SIG_BLOCK) set |= before;
    else if (a[0] == SIG_UNBLOCK) set = before & ~set;
    *mask = set & ~(1ull << (SIGSYS - 1));
  }
  if (a[2]) *(uint64_t *)a[2] = before;
  return 0;
}

static void handle(int number, siginfo_t *information, void *context) {
  (void)number;
#if defined(__x86_64__)
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  long arguments[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
#else
  unsigned long long *r = ((ucontext_t *)context)->uc_mcontext.regs;
  long arguments[6] = {r[0], r[1], r[2], r[3], r[4], r[5]};
#endif
  int saved = errno;
  long result = -ENOSYS;
  for (int i = 0; i < COUNT; i++)
    if (KNOWN[i].number == information->si_syscall) {
      uint64_t *mask = (uint64_t *)&((ucontext_t *)context)->uc_sigmask;
      result = KNOWN[i].kind == MASK ? set_mask(arguments, mask) : decide(&KNOWN[i], arguments);
      break;
    }
  errno = saved;
#if defined(__x86_64__)
  r[REG_RAX] = result;
#else
  r[0] = result;
#endif
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

// All calls of the table become signals, except for those of `gate`.
static int install(void) {
  uint64_t allowed = (uint64_t)(uintptr_t)after_gate;
  struct sock_filter filter[2 * COUNT + 8] = {
      LOAD(instruction_pointer),
      IF_EQUAL((uint32_t)allowed, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
      IF_EQUAL((uint32_t)(allowed >> 32), 0, 1),
      RETURN(SECCOMP_RET_ALLOW),
      LOAD(nr),
  };
  unsigned short end = 6;
  for (int i = 0; i < COUNT; i++) {
    filter[end++] = (struct sock_filter)IF_EQUAL(KNOWN[i].number, 0, 1);
    filter[end++] = (struct sock_filter)RETURN(SECCOMP_RET_TRAP);
  }
  filter[end++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
  struct sock_fprog program = {end, filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// No thread can be started. clone3 seems to be missing, so that clone is used, whose flags can be seen.
static int install_no_threads(void) {
  struct sock_filter filter[] = {
      LOAD(nr),
      IF_EQUAL(SYS_clone3, 0, 1),
      RETURN(SECCOMP_RET_ERRNO | ENOSYS),
      IF_EQUAL(SYS_clone, 0, 3),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
      RETURN(SECCOMP_RET_ERRNO | EAGAIN),
      RETURN(SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// Watch this process from now on. Returns 0, or -1 where the system has no such filters.
int watch(struct record *shared, const char *path, int which, long first, int what) {
  record = shared;
  strncpy(folder, path, sizeof folder - 1);
  folder_length = strlen(folder);
  mode = (enum mode)which;
  when = first;
  fault = what;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (mode == NO_THREADS) return install_no_threads();
  struct sigaction action = {0};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  if (sigaction(SIGSYS, &action, NULL) != 0) return -1;
  return install();
}
