/* Arithmetic alone: independent chains of fused multiply-adds, enough of them to fill every unit of a core and no
 * more than its registers hold. What two threads of it reach together is what the hardware gives two threads.
 */
enum { CHAINS = 12, LANES = 8 };
typedef double vector __attribute__((vector_size(8 * LANES)));

double arithmetic(long rounds)
{
    vector x[CHAINS], scale, shift;
    for (int i = 0; i < LANES; i++) scale[i] = 0.999, shift[i] = 1e-3;
    for (int j = 0; j < CHAINS; j++)
        for (int i = 0; i < LANES; i++) x[j][i] = 0.1 * (i + j);
    for (long n = 0; n < rounds; n++)
        for (int j = 0; j < CHAINS; j++) x[j] = x[j] * scale + shift;
    double sum = 0.0;
    for (int j = 0; j < CHAINS; j++)
        for (int i = 0; i < LANES; i++) sum += x[j][i];
    return sum;
}
