/* What an ensemble's kernel takes from CUDA beyond cpu.h, for plain C++ compilers. */
#ifndef __CUDACC__

#include <cstring>

#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)

static inline unsigned long long atomicAdd(unsigned long long *place, unsigned long long more)
{
    const unsigned long long before = *place;
    *place += more;
    return before;
}

static inline unsigned __activemask() { return 1; }
static inline int __any_sync(unsigned, int value) { return value; }

using std::fma;
static inline float fmaf_(float a, float b, float c) { return std::fma(a, b, c); }
#define fmaf fmaf_

static inline int __double2loint(double x)
{
    long long bits;
    std::memcpy(&bits, &x, 8);
    return (int)bits;
}
static inline int __double2hiint(double x)
{
    long long bits;
    std::memcpy(&bits, &x, 8);
    return (int)(bits >> 32);
}
static inline double __hiloint2double(int high, int low)
{
    const unsigned long long bits = (unsigned long long)(unsigned)high << 32 | (unsigned)low;
    double x;
    std::memcpy(&x, &bits, 8);
    return x;
}
static inline int __float_as_int(float x)
{
    int bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}
static inline float __int_as_float(int bits)
{
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

#endif
