// rehang from C: docs/embed.md. Written by cbindgen from harness/c-api/src/abi.rs; do not edit.

#ifndef REHANG_H
#define REHANG_H

#include <stddef.h>
#include <stdint.h>

// The version of these functions. It rises if a program that was built for an earlier one would break.
#define REHANG_ABI 1

// The call has done what it should.
#define REHANG_OK 0

// An argument is wrong: a null pointer, or a number that means nothing.
#define REHANG_BAD_ARGUMENT -1

// rehang's own fault. The guard cannot be used any more.
#define REHANG_INTERNAL -2

// Guard around one process. All functions may be called from any thread; calls for one guard wait for each other.
typedef struct RehangGuard RehangGuard;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library: `REHANG_ABI` of the header that it was built with.
uint32_t rehang_abi(void);

// Says why a process does not move: a JSON object as `docs/embed.schema.json` describes it, or `{"v":1,"error":{…}}`.
// Blocks for the time of the look, 1 s by default, and may be called from several threads at once.
//
// `options` is null or a JSON object: `agents`, `ask`, `window_ms`, `silent_ms`. The text is to be freed by `rehang_free`.
//
// # Safety
// `options` is null or a text that ends with NUL.
char *rehang_why(int32_t pid,
                 const char *options);

// A guard around a process that has just been started; null if there is none, and then `*error`, if `error` is not null, is
// a JSON object `{"v":1,"error":{…}}`, to be freed by `rehang_free`.
//
// `options` is null or a JSON object: `strategies`, `stdin`, `one_stream`, `agents`, `ask`. The guard is to be freed by
// `rehang_guard_free`. It does nothing to the process by itself.
//
// # Safety
// `options` is null or a text that ends with NUL; `error` is null or may be written to.
RehangGuard *rehang_guard_new(int32_t pid,
                              const char *options,
                              char **error);

// The process has written `length` bytes to its stdout (`stream` 1) or stderr (2); as with read(2), no bytes are the end of
// the stream. On a terminal all is stdout. Returns `REHANG_OK` or what is wrong.
//
// # Safety
// `guard` is null or was returned by `rehang_guard_new` and not freed; `length` bytes can be read at `bytes`.
int32_t rehang_guard_output(const RehangGuard *guard,
                            int32_t stream,
                            const uint8_t *bytes,
                            size_t length);

// The caller has written these bytes to the process's stdin. Returns `REHANG_OK` or what is wrong.
//
// # Safety
// `guard` is null or was returned by `rehang_guard_new` and not freed; `length` bytes can be read at `bytes`.
int32_t rehang_guard_wrote(const RehangGuard *guard, const uint8_t *bytes, size_t length);

// The process has ended: `code` is its exit code, or minus the number of the signal that ended it. Returns `REHANG_OK` or
// what is wrong.
//
// # Safety
// `guard` is null or was returned by `rehang_guard_new` and not freed.
int32_t rehang_guard_exited(const RehangGuard *guard,
                            int32_t code);

// What the process does, and what the caller is to do now: a JSON object as `docs/embed.schema.json` describes it, or
// `{"v":1,"error":{…}}`. It does not wait: a look is taken by a thread, and a later call has its result.
//
// To be called after `next_ms` at the latest, and at best also after each call that feeds it. The text is to be freed by
// `rehang_free`.
//
// # Safety
// `guard` is null or was returned by `rehang_guard_new` and not freed.
char *rehang_guard_ask(const RehangGuard *guard);

// Frees a guard; null is none. A look that is under way ends by itself.
//
// # Safety
// `guard` is null or was returned by `rehang_guard_new`, and is not used after this.
void rehang_guard_free(RehangGuard *guard);

// Frees a text that another function has returned; null is none.
//
// # Safety
// `text` is null or was returned by a function of this library, and is not used after this.
void rehang_free(char *text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* REHANG_H */
