/* saved.c: states of an instance, saved, restored, and as bytes. The bytes belong to this model, as built
 * for this kind of machine.
 */

#include <string.h>

#include "fmu.h"

typedef struct {
    char token[sizeof TOKEN];
    fmu_values values;
} saved_state;

int fmu_save(fmu *me, void **saved)
{
    saved_state *copy;
    if (!saved) return fmu_fail(me, "a place for the state is missing");
    copy = *saved ? *saved : me->allocate(1, sizeof *copy);
    if (!copy) return fmu_fail(me, "there is no memory for another state");
    fmu_constants(me);
    memcpy(copy->token, TOKEN, sizeof copy->token);
    memcpy(&copy->values, &me->now, sizeof me->now);
    *saved = copy;
    return FMU_OK;
}

int fmu_restore(fmu *me, const void *saved)
{
    const saved_state *from = saved;
    if (!from) return fmu_fail(me, "there is no state to restore");
    if (memcmp(from->token, TOKEN, sizeof from->token)) return fmu_fail(me, "the state is one of another model");
    memcpy(&me->now, &from->values, sizeof me->now);
    me->stale = me->known = 0;
    return FMU_OK;
}

int fmu_forget(fmu *me, void **saved)
{
    if (!saved) return fmu_fail(me, "a place with the state is missing");
    if (*saved) me->release(*saved);
    *saved = NULL;
    return FMU_OK;
}

size_t fmu_serialized_size(void) { return sizeof(saved_state); }

int fmu_serialize(fmu *me, const void *saved, unsigned char *bytes, size_t size)
{
    if (!saved || !bytes) return fmu_fail(me, "there is no state, or no place for its bytes");
    if (size < sizeof(saved_state)) return fmu_fail(me, "%lu bytes are too few for the state", (unsigned long)size);
    memcpy(bytes, saved, sizeof(saved_state));
    return FMU_OK;
}

int fmu_deserialize(fmu *me, const unsigned char *bytes, size_t size, void **saved)
{
    saved_state *copy;
    if (!bytes || !saved) return fmu_fail(me, "there are no bytes, or no place for the state");
    if (size < sizeof *copy || memcmp(bytes, TOKEN, sizeof TOKEN))
        return fmu_fail(me, "the bytes are not a state of this model");
    copy = *saved ? *saved : me->allocate(1, sizeof *copy);
    if (!copy) return fmu_fail(me, "there is no memory for another state");
    memcpy(copy, bytes, sizeof *copy);
    *saved = copy;
    return FMU_OK;
}
