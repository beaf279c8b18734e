/* What an ensemble's kernel takes from CUDA beyond cpu.h, for plain C++ compilers. */
#ifndef __CUDACC__

#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define __shared__

static inline unsigned long long atomicAdd(unsigned long long *place, unsigned long long more)
{
    const unsigned long long before = *place;
    *place += more;
    return before;
}

/*
 * Threads of a warp that pass values to each other: contexts of one thread, which take turns where a value is passed.
 * What a lane passes at one place is kept until all lanes have come to the next. A lane that comes to another number of
 * places than its neighbours would wait for ever on a card: here the program ends.
 */
enum { CPU_LANES = 32, CPU_STACK = 1 << 20 };
static struct {
    unsigned count, lane, passed[CPU_LANES];
    bool ended[CPU_LANES];
    double values[2][CPU_LANES];
    ucontext_t outside, inside[CPU_LANES];
    void (*run)(void *, unsigned);
    void *given;
} cpu_warp;

static inline void cpu_next_lane()
{
    const unsigned own = cpu_warp.lane;
    const cpu_index thread = threadIdx;
    cpu_warp.lane = (own + 1) % cpu_warp.count;
    swapcontext(&cpu_warp.inside[own], &cpu_warp.inside[cpu_warp.lane]);
    threadIdx = thread;
}

/* The values that lanes pass at one place. */
static inline const double *cpu_pass(double x)
{
    const unsigned own = cpu_warp.lane, place = cpu_warp.passed[own]++ % 2;
    cpu_warp.values[place][own] = x;
    for (unsigned i = 0; i < cpu_warp.count; i++)
        if (cpu_warp.ended[i])
            std::abort();
    if (cpu_warp.count > 1)
        cpu_next_lane();
    for (unsigned i = 0; i < cpu_warp.count; i++) /* lanes before this one have come to the next place, or ended */
        if (cpu_warp.passed[i] - cpu_warp.passed[own] != (unsigned)(i < own && !cpu_warp.ended[i]))
            std::abort();
    return cpu_warp.values[place];
}

static void cpu_lane()
{
    const unsigned own = cpu_warp.lane;
    cpu_warp.run(cpu_warp.given, own);
    cpu_warp.ended[own] = true;
    if (own + 1 == cpu_warp.count)
        setcontext(&cpu_warp.outside);
    cpu_warp.lane = own + 1;
    setcontext(&cpu_warp.inside[own + 1]);
}

template <class Run> static void cpu_together(unsigned count, Run run)
{
    static char stacks[CPU_LANES][CPU_STACK];
    cpu_warp.count = count;
    cpu_warp.lane = 0;
    cpu_warp.given = &run;
    cpu_warp.run = [](void *given, unsigned lane) { (*(Run *)given)(lane); };
    for (unsigned i = 0; i < count; i++) {
        cpu_warp.passed[i] = 0;
        cpu_warp.ended[i] = false;
        getcontext(&cpu_warp.inside[i]);
        cpu_warp.inside[i].uc_stack.ss_sp = stacks[i];
        cpu_warp.inside[i].uc_stack.ss_size = CPU_STACK;
        makecontext(&cpu_warp.inside[i], cpu_lane, 0);
    }
    swapcontext(&cpu_warp.outside, &cpu_warp.inside[0]);
}

template <class Number> static inline Number __shfl_sync(unsigned, Number x, int lane, int width)
{
    const unsigned own = cpu_warp.lane;
    return (Number)cpu_pass(x)[own / width * width + lane % width];
}
template <class Number> static inline Number __shfl_xor_sync(unsigned, Number x, int distance)
{
    const unsigned own = cpu_warp.lane;
    return (Number)cpu_pass(x)[own ^ distance];
}
static inline unsigned __ballot_sync(unsigned, bool x)
{
    const unsigned first = threadIdx.x % 32 - cpu_warp.lane;
    const double *values = cpu_pass(x);
    unsigned bits = 0;
    for (unsigned i = 0; i < cpu_warp.count; i++)
        bits |= (unsigned)(values[i] != 0.0) << (first + i);
    return bits;
}
static inline bool __all_sync(unsigned, bool x)
{
    const double *values = cpu_pass(x);
    bool all = true;
    for (unsigned i = 0; i < cpu_warp.count; i++)
        all = all && values[i] != 0.0;
    return all;
}

static inline double __dadd_rn(double a, double b)
{
    volatile double x = a; /* not fused with a product */
    return x + b;
}
static inline float __fadd_rn(float a, float b)
{
    volatile float x = a;
    return x + b;
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
