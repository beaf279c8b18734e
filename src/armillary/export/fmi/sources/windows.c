/* windows.c: what the C library of Windows, ucrtbase.dll, does not export; for libraries that are linked on another
 * system, where building a C library first would take minutes.
 */
#include <stdarg.h>
#include <stddef.h>

int __stdio_common_vsprintf(unsigned long long options, char *out, size_t size, const char *format, void *locale,
                            va_list arguments);

int vsnprintf(char *out, size_t size, const char *format, va_list arguments)
{
    return __stdio_common_vsprintf(2, out, size, format, NULL, arguments); /* 2: the result counts as in C99 */
}

int snprintf(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = vsnprintf(out, size, format, arguments);
    va_end(arguments);
    return count;
}

/* Part of isfinite and isnan of math.h: FP_NORMAL, FP_NAN or FP_INFINITE. */
int __fpclassify(double x) { return x - x == 0.0 ? 0x0400 : x != x ? 0x0100 : 0x0500; }

int _fltused = 1;

int DllMainCRTStartup(void *module, unsigned reason, void *reserved)
{
    (void)module, (void)reason, (void)reserved;
    return 1;
}
