/* Whether the pieces of a request are what is read of it. Include it with OBJECT, the type, and
   CALL(name), a function of it. */
#ifndef PIECES_H
#define PIECES_H

#include <kubelease.h>

#include <stdbool.h>
#include <string.h>

/* Part `part` of request `id`, read as `text`, by up to `room` pieces at once. */
static inline bool pieces_are(const OBJECT *object, uint32_t id, uint32_t part, const char *text,
                              size_t length, size_t room)
{
    kl_piece pieces[8];
    uint8_t scratch[KL_PIECES_SCRATCH];
    size_t have = 0, first = 0, count;
    do {
        if (room > 8 || CALL(request_pieces)(object, id, part, first, pieces, room, scratch,
                                             sizeof scratch, &count) != KL_OK)
            return false;
        for (size_t i = 0; i < count; have += pieces[i].len, i++)
            if (pieces[i].len == 0 || pieces[i].len > length - have ||
                memcmp(text + have, pieces[i].ptr, pieces[i].len) != 0)
                return false;
        first += count;
    } while (count != 0);
    return have == length;
}

#endif
