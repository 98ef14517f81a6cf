// SPDX-License-Identifier: Apache-2.0
/// Functions of Emscripten's libraries that are here instead, because threads have none of its JavaScript, or because
/// theirs are large.
#include <emscripten/em_js.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstring>

EM_JS_DEPS(headlens_runtime, "$UTF8ToString,$stringToUTF8")
EM_JS(double, MathSin, (double x), { return Math.sin(x); })
EM_JS(double, MathCos, (double x), { return Math.cos(x); })
EM_JS(double, MathPow, (double x, double y), { return Math.pow(x, y); })
EM_JS(double, ReadNumber, (const char* text), { return Number(UTF8ToString(text)); })
EM_JS(void, WriteNumber, (char* text, double number, int size), {
  const parts = number.toExponential(5).split("e");
  const power = Number(parts[1]);
  const exponent = (power < 0 ? "e-" : "e+") + String(Math.abs(power)).padStart(2, "0");
  const isFar = power < -4 || power > 5;
  const shown = isFar ? Number(parts[0]) + exponent : String(Number(number.toPrecision(6)));
  stringToUTF8(Number.isFinite(number) ? shown : number > 0 ? "inf" : "-inf", text, size);
})

extern "C" {

/// The linker's: gives the calling instance the addresses of its thread-local data.
void __wasm_init_tls(void* data);

/// Emscripten calls it for threads only. Without it, C++ here would not find the exceptions that it catches.
[[gnu::constructor(101)]] void InitThreadLocalsOfCaller() { __wasm_init_tls(__builtin_wasm_tls_base()); }

/// Instead of Emscripten's own, which is JavaScript that threads do not have: what they need must be in here.
int sched_yield() { return 0; }

/// The same. Grows by a fifth where that can be had, so that many small allocations do not grow it each.
int emscripten_resize_heap(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{1} << 16, kMostExtra = (std::size_t{96} << 20) / kPage;
  const std::size_t pages = __builtin_wasm_memory_size(0), wanted = (bytes - 1) / kPage + 1;
  if (wanted <= pages) return 1;
  for (const std::size_t extra : {std::min(pages / 5, kMostExtra), std::size_t{0}})
    if (__builtin_wasm_memory_grow(0, wanted - pages + extra) != static_cast<std::size_t>(-1)) return 1;
  return 0;
}

/// The linker puts it in the place of strtod (CMakeLists.txt), which only the parser of JSON calls, and only with a
/// whole number. JavaScript reads these as exactly, and libc's own would be 6 KB of the download.
double __wrap_strtod(const char* text, char** end) {
  *end = const_cast<char*>(text) + std::strlen(text);
  return ReadNumber(text);
}

/// The same for snprintf in the package's modules, where only the messages of errors call it, and only with the format
/// "%g" and a number that is not NaN. libc's own would be 2 KB of the download.
int __wrap_snprintf(char* text, std::size_t size, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  WriteNumber(text, va_arg(arguments, double), static_cast<int>(size));
  va_end(arguments);
  return static_cast<int>(std::strlen(text));
}

/// The same for functions that angles of positions and colours are made of. Only the caller's thread calls them, and
/// libc's own, with their tables, would be 5 KB of the download.
double __wrap_sin(double x) { return MathSin(x); }
double __wrap_cos(double x) { return MathCos(x); }
double __wrap_pow(double x, double y) { return MathPow(x, y); }

/// The same for sprintf, which only Embind calls, to name a type that was never bound; there is none here.
int __wrap_siprintf(char* text, const char* /*format*/, ...) {
  *text = '\0';
  return 0;
}
}
