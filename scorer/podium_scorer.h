/* podium_scorer.h: score with models that Podium trained, in C99, in one file, with nothing but the standard library.
 *
 * Models of trees and linear models are read from `.podium` files, and every score has the same bits as in Python.
 * In exactly one source file of your program write
 *
 *     #define PODIUM_SCORER_IMPLEMENTATION
 *     #include "podium_scorer.h"
 *
 * and in the others only the include. Link with -lm. A scorer never changes after it was opened, so any number of
 * threads may score with it at once. A file is checked in full before it is used: its checksum, every size and every
 * reference between nodes. Nothing in a file is ever executed.
 *
 * License: Apache-2.0, as Podium itself.
 */
#ifndef PODIUM_SCORER_H
#define PODIUM_SCORER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct podium_scorer podium_scorer;

/* Opens a model file, or a model in memory, which need not be kept. Returns NULL if it cannot be used; `error`, unless
 * it is NULL, then holds a sentence of at most `error_size` - 1 characters that says why. */
podium_scorer* podium_open(const char* path, char* error, size_t error_size);
podium_scorer* podium_open_memory(const void* bytes, size_t size, char* error, size_t error_size);
void podium_close(podium_scorer* scorer);

/* How many features a document must have. */
size_t podium_features(const podium_scorer* scorer);

/* Writes the scores of `count` documents. The features of a document stand side by side, NaN for a missing value.
 * Returns 0, or 1 if a feature is infinite or a score is not finite; what was written is then of no use. */
int podium_score(const podium_scorer* scorer, const float* features, size_t count, double* scores);

#ifdef __cplusplus
}
#endif
#endif /* PODIUM_SCORER_H */

#ifdef PODIUM_SCORER_IMPLEMENTATION
#ifndef PODIUM_SCORER_IMPLEMENTED
#define PODIUM_SCORER_IMPLEMENTED

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "Scores are computed in double precision; compile for SSE2 (-msse2 -mfpmath=sse) or another IEEE machine."
#endif

enum { PODIUM_MAX_DEPTH = 64, PODIUM_MAX_ARRAYS = 256, PODIUM_MAX_NAME = 128, PODIUM_MAX_DIMENSIONS = 4 };
/* A forest has no array with one entry per feature, so nothing else limits what a file may claim. */
enum { PODIUM_MAX_FEATURES = 1 << 20 };

typedef struct {
  char name[PODIUM_MAX_NAME];
  char type[8];
  uint64_t shape[PODIUM_MAX_DIMENSIONS];
  int dimensions;
  uint64_t begin, end; /* bytes, counted from the end of the header */
} podium_array;

struct podium_scorer {
  size_t features;
  int trees; /* whether it is a forest; otherwise it is linear */
  /* a forest */
  size_t n_trees, n_nodes, n_leaves, n_sets, n_categorical, n_categories;
  int64_t *node_offsets, *leaf_offsets, *category_offsets;
  int32_t *feature, *left, *right, *set, *category_features;
  float *threshold, *categories;
  uint8_t* missing_left;
  uint64_t* sets;
  double* value;
  int32_t* category_of; /* of each feature, or -1 */
  uint8_t* rules;       /* of each feature, or NULL: what is done to its values; see podium_ruled */
  int float_sums;       /* whether values are added to the base and every sum is rounded to a float */
  /* a linear model */
  double *center, *scale, *filled, *weights;
  double base; /* where every score starts, or the bias */
};

/* What is at hand while a file is read. */
typedef struct {
  const unsigned char* bytes;
  uint64_t size, data; /* of the file, and where its arrays begin */
  podium_array arrays[PODIUM_MAX_ARRAYS];
  int n_arrays;
  char* header; /* the JSON that describes the model */
  size_t header_size;
  char kind[32], digest[65], sums[16];
  char output[16]; /* the transfer function of the output of a linear model; none has one */
  uint64_t format, count, n_features, n_outputs, width[2];
  int widths, counted, normalized;
  const char *digest_begin, *digest_end; /* the entry of the checksum in the header */
  char* error;
  size_t error_size;
} podium_reader;

static int podium_fail(podium_reader* r, const char* format, ...) {
  if (r->error != NULL && r->error_size > 0) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error, r->error_size, format, arguments);
    va_end(arguments);
  }
  return 0;
}

/* ---- JSON: just enough to walk through an object and read what is needed; every function returns 0 on bad input ----
 */

typedef struct {
  const char *at, *end;
} podium_json;

static void podium_blank(podium_json* j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r')) ++j->at;
}

static int podium_sign(podium_json* j, char sign) {
  podium_blank(j);
  if (j->at >= j->end || *j->at != sign) return 0;
  ++j->at;
  return 1;
}

static int podium_hex4(podium_json* j, unsigned* out) {
  unsigned value = 0;
  for (int k = 0; k < 4; ++k) {
    if (j->at >= j->end) return 0;
    const char c = *j->at++;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return 0;
    value = value * 16 + (unsigned)digit;
  }
  *out = value;
  return 1;
}

static size_t podium_utf8(unsigned code, char* out) {
  if (code < 0x80) return out[0] = (char)code, 1;
  if (code < 0x800) return out[0] = (char)(0xC0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63)), out[2] = (char)(0x80 | (code & 63));
    return 3;
  }
  out[0] = (char)(0xF0 | code >> 18), out[1] = (char)(0x80 | (code >> 12 & 63));
  out[2] = (char)(0x80 | (code >> 6 & 63)), out[3] = (char)(0x80 | (code & 63));
  return 4;
}

/* Reads a string. Its text, which is never longer than the JSON, goes to `out` if that is not NULL: at most `room`
 * bytes with the final 0. */
static int podium_string(podium_json* j, char* out, size_t room, size_t* length) {
  size_t n = 0;
  if (!podium_sign(j, '"')) return 0;
  while (j->at < j->end && *j->at != '"') {
    char text[4];
    size_t count = 1;
    text[0] = *j->at++;
    if ((unsigned char)text[0] < 0x20) return 0;
    if (text[0] == '\\') {
      if (j->at >= j->end) return 0;
      const char escape = *j->at++;
      const char* known = strchr("\"\"\\\\//b\bf\fn\nr\rt\t", escape);
      if (escape == 'u') {
        unsigned code, low;
        if (!podium_hex4(j, &code)) return 0;
        if (code >= 0xD800 && code < 0xDC00) {
          if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') return 0;
          j->at += 2;
          if (!podium_hex4(j, &low) || low < 0xDC00 || low > 0xDFFF) return 0;
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        count = podium_utf8(code, text);
      } else if (escape != 0 && known != NULL && strchr("\"\\/bfnrt", escape) != NULL) {
        text[0] = known[1];
      } else {
        return 0;
      }
    }
    if (out != NULL) {
      if (n + count >= room) return 0;
      memcpy(out + n, text, count);
    }
    n += count;
  }
  if (j->at >= j->end) return 0;
  ++j->at;
  if (out != NULL) out[n] = 0;
  if (length != NULL) *length = n;
  return 1;
}

static int podium_number(podium_json* j, uint64_t* out) {
  podium_blank(j);
  uint64_t value = 0;
  int digits = 0;
  for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; ++j->at, ++digits) {
    const uint64_t digit = (uint64_t)(*j->at - '0');
    if (value > (UINT64_MAX - digit) / 10) return 0;
    value = value * 10 + digit;
  }
  if (digits == 0 || (j->at < j->end && strchr(".eE", *j->at) != NULL && *j->at != 0)) return 0;
  *out = value;
  return 1;
}

/* Passes over any value. */
static int podium_skip(podium_json* j, int depth) {
  podium_blank(j);
  if (j->at >= j->end || depth > PODIUM_MAX_DEPTH) return 0;
  const char first = *j->at;
  if (first == '"') return podium_string(j, NULL, 0, NULL);
  if (first == '{' || first == '[') {
    const char last = first == '{' ? '}' : ']';
    ++j->at;
    if (podium_sign(j, last)) return 1;
    do {
      if (first == '{' && (!podium_string(j, NULL, 0, NULL) || !podium_sign(j, ':'))) return 0;
      if (!podium_skip(j, depth + 1)) return 0;
    } while (podium_sign(j, ','));
    return podium_sign(j, last);
  }
  const char* begin = j->at;
  while (j->at < j->end &&
         strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *j->at) != NULL && *j->at != 0)
    ++j->at;
  return j->at > begin;
}

/* Begins an object. Afterwards podium_next reads one key after another, until there are no more. */
static int podium_object(podium_json* j, int* more) {
  if (!podium_sign(j, '{')) return 0;
  *more = 1;
  if (podium_sign(j, '}')) *more = 0;
  return 1;
}

static int podium_key(podium_json* j, char* key, size_t room) {
  podium_json before = *j;
  size_t length;
  if (!podium_string(j, NULL, 0, &length)) return 0;
  key[0] = 0;
  if (length < room) {
    *j = before;
    if (!podium_string(j, key, room, NULL)) return 0;
  }
  return podium_sign(j, ':');
}

static int podium_next(podium_json* j, int* more) {
  if (podium_sign(j, ',')) return 1;
  *more = 0;
  return podium_sign(j, '}');
}

/* ---- the header ---- */

static int podium_read_list(podium_json* j, uint64_t* out, int room, int* count) {
  *count = 0;
  if (!podium_sign(j, '[')) return 0;
  if (podium_sign(j, ']')) return 1;
  do {
    if (*count >= room || !podium_number(j, out + *count)) return 0;
    ++*count;
  } while (podium_sign(j, ','));
  return podium_sign(j, ']');
}

static int podium_read_entry(podium_json* j, podium_array* array) {
  char key[PODIUM_MAX_NAME];
  uint64_t offsets[2];
  int more, count, seen = 0;
  if (!podium_object(j, &more)) return 0;
  while (more) {
    if (!podium_key(j, key, sizeof key)) return 0;
    if (strcmp(key, "dtype") == 0) {
      if (!podium_string(j, array->type, sizeof array->type, NULL)) return 0;
      seen |= 1;
    } else if (strcmp(key, "shape") == 0) {
      if (!podium_read_list(j, array->shape, PODIUM_MAX_DIMENSIONS, &array->dimensions)) return 0;
      seen |= 2;
    } else if (strcmp(key, "data_offsets") == 0) {
      if (!podium_read_list(j, offsets, 2, &count) || count != 2) return 0;
      array->begin = offsets[0], array->end = offsets[1];
      seen |= 4;
    } else if (!podium_skip(j, 0)) {
      return 0;
    }
    if (!podium_next(j, &more)) return 0;
  }
  return seen == 7;
}

static int podium_read_metadata(podium_reader* r, podium_json* j) {
  char key[PODIUM_MAX_NAME];
  int more;
  if (!podium_object(j, &more)) return 0;
  while (more) {
    if (!podium_key(j, key, sizeof key)) return 0;
    if (strcmp(key, "podium") == 0 && r->header == NULL) {
      const size_t room = (size_t)(j->end - j->at) + 1;
      r->header = (char*)malloc(room);
      if (r->header == NULL || !podium_string(j, r->header, room, &r->header_size)) return 0;
    } else if (!podium_skip(j, 0)) {
      return 0;
    }
    if (!podium_next(j, &more)) return 0;
  }
  return r->header != NULL;
}

/* The arrays of a file, and the text that describes the model. */
static int podium_read_tensors(podium_reader* r) {
  if (r->size < 8) return podium_fail(r, "the file is too short to be a Podium model");
  uint64_t length = 0;
  for (int k = 7; k >= 0; --k) length = length << 8 | r->bytes[k];
  if (length > r->size - 8) return podium_fail(r, "the file is not a Podium model, or its end is missing");
  r->data = 8 + length;
  podium_json j = {(const char*)r->bytes + 8, (const char*)r->bytes + 8 + length};
  int more;
  if (!podium_object(&j, &more)) return podium_fail(r, "the file is not a Podium model");
  while (more) {
    char key[PODIUM_MAX_NAME];
    if (!podium_key(&j, key, sizeof key)) return podium_fail(r, "the header of the file is damaged");
    if (strcmp(key, "__metadata__") == 0) {
      if (!podium_read_metadata(r, &j)) return podium_fail(r, "the file has no description of a Podium model");
    } else {
      if (key[0] == 0 || r->n_arrays == PODIUM_MAX_ARRAYS)
        return podium_fail(r, "the file has arrays that no model has");
      podium_array* array = &r->arrays[r->n_arrays];
      for (int k = 0; k < r->n_arrays; ++k) {
        if (strcmp(r->arrays[k].name, key) == 0) return podium_fail(r, "the array %s is there twice", key);
      }
      strcpy(array->name, key);
      if (!podium_read_entry(&j, array)) return podium_fail(r, "the entry of the array %s is damaged", key);
      ++r->n_arrays;
    }
    if (!podium_next(&j, &more)) return podium_fail(r, "the header of the file is damaged");
  }
  podium_blank(&j);
  if (j.at != j.end || r->header == NULL) return podium_fail(r, "the header of the file is damaged");
  return 1;
}

static int podium_read_settings(podium_reader* r, podium_json* j) {
  char key[PODIUM_MAX_NAME];
  int more;
  if (!podium_object(j, &more)) return 0;
  while (more) {
    if (!podium_key(j, key, sizeof key)) return 0;
    if (strcmp(key, "n_features") == 0) {
      if (!podium_number(j, &r->n_features)) return 0;
    } else if (strcmp(key, "n_outputs") == 0) {
      if (!podium_number(j, &r->n_outputs)) return 0;
    } else if (strcmp(key, "sums") == 0) {
      if (!podium_string(j, r->sums, sizeof r->sums, NULL)) return 0;
    } else if (strcmp(key, "output") == 0) {
      if (!podium_string(j, r->output, sizeof r->output, NULL)) return 0;
    } else if (strcmp(key, "widths") == 0) {
      if (!podium_read_list(j, r->width, 2, &r->widths)) return 0;
    } else if (!podium_skip(j, 0)) {
      return 0;
    }
    if (!podium_next(j, &more)) return 0;
  }
  return 1;
}

static int podium_read_part(podium_reader* r, podium_json* j, const char* part) {
  char key[PODIUM_MAX_NAME];
  int more;
  if (!podium_object(j, &more)) return 0;
  while (more) {
    if (!podium_key(j, key, sizeof key)) return 0;
    if (strcmp(part, "model") == 0 && strcmp(key, "name") == 0) {
      if (!podium_string(j, r->kind, sizeof r->kind, NULL)) return 0;
    } else if (strcmp(part, "model") == 0 && strcmp(key, "settings") == 0 &&
               (strcmp(r->kind, "trees") == 0 || strcmp(r->kind, "linear") == 0)) {
      if (!podium_read_settings(r, j)) return 0;
    } else if (strcmp(part, "features") == 0 && strcmp(key, "count") == 0) {
      if (!podium_number(j, &r->count)) return 0;
      r->counted = 1;
    } else {
      podium_blank(j);
      if (strcmp(part, "features") == 0 && strcmp(key, "normalize") == 0)
        r->normalized = j->at < j->end && *j->at != 'n'; /* anything but null */
      if (!podium_skip(j, 0)) return 0;
    }
    if (!podium_next(j, &more)) return 0;
  }
  return 1;
}

static int podium_read_header(podium_reader* r) {
  podium_json j = {r->header, r->header + r->header_size};
  int more;
  if (!podium_object(&j, &more)) return podium_fail(r, "the description of the model is damaged");
  while (more) {
    char key[PODIUM_MAX_NAME];
    podium_blank(&j);
    const char* begin = j.at;
    if (!podium_key(&j, key, sizeof key)) return podium_fail(r, "the description of the model is damaged");
    int good;
    if (strcmp(key, "format") == 0) {
      good = podium_number(&j, &r->format);
    } else if (strcmp(key, "sha256") == 0 && r->digest_begin == NULL) {
      good = podium_string(&j, r->digest, sizeof r->digest, NULL);
      r->digest_begin = begin, r->digest_end = j.at;
    } else if (strcmp(key, "model") == 0 || strcmp(key, "features") == 0) {
      good = podium_read_part(r, &j, key);
    } else {
      good = podium_skip(&j, 0);
    }
    if (!good || !podium_next(&j, &more)) return podium_fail(r, "the entry %s of the model is damaged", key);
  }
  if (r->format != 2) {
    return podium_fail(r, "the file has format %llu, and this scorer reads format 2; load and save it with Podium",
                       (unsigned long long)r->format);
  }
  if (r->normalized)
    return podium_fail(r, "the model rescales features inside each query, which this scorer does not do");
  return 1;
}

/* ---- the checksum: SHA-256 (FIPS 180-4) ---- */

typedef struct {
  uint32_t state[8];
  unsigned char block[64];
  uint64_t size;
} podium_sha;

static uint32_t podium_rotate(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void podium_sha_block(podium_sha* sha) {
  static const uint32_t k[64] = {
      0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
      0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
      0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
      0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
      0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
      0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
      0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
      0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; ++i) {
    const unsigned char* b = sha->block + 4 * i;
    w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = podium_rotate(w[i - 15], 7) ^ podium_rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t b = podium_rotate(w[i - 2], 17) ^ podium_rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  memcpy(s, sha->state, sizeof s);
  for (int i = 0; i < 64; ++i) {
    const uint32_t e = podium_rotate(s[4], 6) ^ podium_rotate(s[4], 11) ^ podium_rotate(s[4], 25);
    const uint32_t a = podium_rotate(s[0], 2) ^ podium_rotate(s[0], 13) ^ podium_rotate(s[0], 22);
    const uint32_t one = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
    const uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof s[0]);
    s[4] += one;
    s[0] = one + two;
  }
  for (int i = 0; i < 8; ++i) sha->state[i] += s[i];
}

static void podium_sha_add(podium_sha* sha, const void* bytes, uint64_t size) {
  const unsigned char* from = (const unsigned char*)bytes;
  while (size > 0) {
    const uint64_t used = sha->size % 64, free = 64 - used, take = size < free ? size : free;
    memcpy(sha->block + used, from, (size_t)take);
    sha->size += take, from += take, size -= take;
    if (sha->size % 64 == 0) podium_sha_block(sha);
  }
}

static void podium_sha_hex(podium_sha* sha, char* out) {
  const uint64_t bits = sha->size * 8;
  unsigned char length[8];
  for (int k = 0; k < 8; ++k) length[k] = (unsigned char)(bits >> (56 - 8 * k));
  podium_sha_add(sha, "\x80", 1);
  while (sha->size % 64 != 56) podium_sha_add(sha, "", 1);
  podium_sha_add(sha, length, 8);
  for (int k = 0; k < 8; ++k) sprintf(out + 8 * k, "%08x", (unsigned)sha->state[k]);
}

static int podium_by_name(const void* a, const void* b) {
  return strcmp(((const podium_array*)a)->name, ((const podium_array*)b)->name);
}

static const struct {
  const char *type, *numpy;
  unsigned size;
} podium_types[] = {{"F64", "<f8", 8}, {"F32", "<f4", 4}, {"I64", "<i8", 8},
                    {"U64", "<u8", 8}, {"I32", "<i4", 4}, {"U8", "|u1", 1}};

static int podium_type(const char* type) {
  for (int k = 0; k < 6; ++k) {
    if (strcmp(podium_types[k].type, type) == 0) return k;
  }
  return -1;
}

/* Every array lies inside the file and has the size that its shape says, and the checksum is right. */
static int podium_check_bytes(podium_reader* r) {
  static const podium_sha start = {
      {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u}, {0}, 0};
  podium_sha sha = start;
  char line[PODIUM_MAX_NAME + 128], digest[65];
  uint64_t total = 0;
  if (r->digest_begin == NULL) return podium_fail(r, "the file has no checksum");
  /* The checksum is of the header without its own entry and the comma that parts it from its neighbor. */
  const char *begin = r->digest_begin, *end = r->digest_end, *last = r->header + r->header_size;
  if (end < last && *end == ',') {
    ++end;
    while (end < last && *end == ' ') ++end;
  } else {
    while (begin > r->header && begin[-1] == ' ') --begin;
    if (begin > r->header && begin[-1] == ',') --begin;
  }
  podium_sha_add(&sha, r->header, (uint64_t)(begin - r->header));
  podium_sha_add(&sha, end, (uint64_t)(last - end));
  podium_sha_add(&sha, "\n", 1);
  qsort(r->arrays, (size_t)r->n_arrays, sizeof r->arrays[0], podium_by_name);
  for (int k = 0; k < r->n_arrays; ++k) {
    const podium_array* a = &r->arrays[k];
    const int type = podium_type(a->type);
    if (type < 0) return podium_fail(r, "the array %s has a type that no model has", a->name);
    if (a->begin > a->end || a->end > r->size - r->data)
      return podium_fail(r, "the array %s lies outside the file", a->name);
    uint64_t size = podium_types[type].size;
    int at = snprintf(line, sizeof line, "%s %s (", a->name, podium_types[type].numpy);
    for (int d = 0; d < a->dimensions; ++d) {
      if (a->shape[d] != 0 && size > UINT64_MAX / a->shape[d])
        return podium_fail(r, "the array %s is too large", a->name);
      size *= a->shape[d];
      at += snprintf(line + at, sizeof line - (size_t)at, d == 0 ? "%llu" : ", %llu", (unsigned long long)a->shape[d]);
    }
    at += snprintf(line + at, sizeof line - (size_t)at, a->dimensions == 1 ? ",)\n" : ")\n");
    if (size != a->end - a->begin) return podium_fail(r, "the array %s has another size than its shape says", a->name);
    total += size;
    podium_sha_add(&sha, line, (uint64_t)at);
    podium_sha_add(&sha, r->bytes + r->data + a->begin, size);
  }
  if (total != r->size - r->data) return podium_fail(r, "the file is longer or shorter than its arrays");
  podium_sha_hex(&sha, digest);
#ifndef PODIUM_SCORER_FUZZING /* a fuzzer gets past the checksum to what is behind it */
  if (strcmp(digest, r->digest) != 0) return podium_fail(r, "the file is damaged: its checksum does not match");
#endif
  return 1;
}

/* ---- the model ---- */

/* Copies an array of `dimensions` dimensions out of the file; `count` gets its numbers. NULL on failure. */
static void* podium_take(podium_reader* r, const char* name, const char* type, int dimensions, size_t* count) {
  for (int k = 0; k < r->n_arrays; ++k) {
    const podium_array* a = &r->arrays[k];
    if (strcmp(a->name, name) != 0) continue;
    if (strcmp(a->type, type) != 0 || a->dimensions != dimensions) {
      podium_fail(r, "the array %s has another type or shape than a model has", name);
      return NULL;
    }
    const size_t size = (size_t)(a->end - a->begin);
    void* copy = malloc(size + 8);
    if (copy == NULL) {
      podium_fail(r, "there is not enough memory for the model");
      return NULL;
    }
    memcpy(copy, r->bytes + r->data + a->begin, size);
    *count = size / podium_types[podium_type(type)].size;
    return copy;
  }
  podium_fail(r, "the array %s is missing", name);
  return NULL;
}

static int podium_check_offsets(const int64_t* offsets, size_t count, size_t last) {
  if (count == 0 || offsets[0] != 0 || offsets[count - 1] != (int64_t)last) return 0;
  for (size_t k = 1; k < count; ++k) {
    if (offsets[k] < offsets[k - 1]) return 0;
  }
  return 1;
}

static int podium_check_tree(podium_reader* r, const podium_scorer* s, size_t t) {
  const int64_t begin = s->node_offsets[t], nodes = s->node_offsets[t + 1] - begin;
  if (s->leaf_offsets[t + 1] - s->leaf_offsets[t] != nodes + 1)
    return podium_fail(r, "tree %lu does not have one leaf more than nodes", (unsigned long)t);
  for (int64_t n = 0; n < nodes; ++n) {
    const int64_t at = begin + n;
    const int32_t children[2] = {s->left[at], s->right[at]};
    for (int side = 0; side < 2; ++side) {
      const int32_t child = children[side];
      /* A child comes after its parent, so that every walk ends. */
      if (child < 0 ? -1 - (int64_t)child > nodes : child <= n || child >= nodes)
        return podium_fail(r, "a child of tree %lu is not in the tree", (unsigned long)t);
    }
    if (s->feature[at] < 0 || (size_t)s->feature[at] >= s->features)
      return podium_fail(r, "tree %lu tests a feature that does not exist", (unsigned long)t);
    const int categorical = s->category_of[s->feature[at]] >= 0;
    if ((s->set[at] >= 0) != categorical || (categorical && (size_t)s->set[at] >= s->n_sets))
      return podium_fail(r, "tree %lu tests categories of a feature that has none", (unsigned long)t);
    if (!categorical && !isfinite(s->threshold[at]))
      return podium_fail(r, "a threshold of tree %lu is not finite", (unsigned long)t);
  }
  return 1;
}

static int podium_check_categories(podium_reader* r, podium_scorer* s, size_t offsets) {
  s->category_of = (int32_t*)malloc((s->features + 1) * sizeof(int32_t));
  if (s->category_of == NULL) return podium_fail(r, "there is not enough memory for the model");
  for (size_t f = 0; f < s->features; ++f) s->category_of[f] = -1;
  if (offsets != s->n_categorical + 1 || !podium_check_offsets(s->category_offsets, offsets, s->n_categories))
    return podium_fail(r, "the categories of the model are damaged");
  for (size_t k = 0; k < s->n_categorical; ++k) {
    const int32_t f = s->category_features[k];
    if (f < 0 || (size_t)f >= s->features || s->category_of[f] >= 0)
      return podium_fail(r, "a categorical feature does not exist");
    s->category_of[f] = (int32_t)k;
    if (s->category_offsets[k + 1] - s->category_offsets[k] > 255)
      return podium_fail(r, "a feature has more than 255 categories");
    for (int64_t c = s->category_offsets[k]; c < s->category_offsets[k + 1]; ++c) {
      if (isnan(s->categories[c]) || (c > s->category_offsets[k] && !(s->categories[c] > s->categories[c - 1])))
        return podium_fail(r, "the categories of a feature do not rise");
    }
  }
  return 1;
}

static int podium_has(const podium_reader* r, const char* name) {
  for (int k = 0; k < r->n_arrays; ++k) {
    if (strcmp(r->arrays[k].name, name) == 0) return 1;
  }
  return 0;
}

/* Models that other libraries trained may have a rule for each feature. */
static int podium_load_rules(podium_reader* r, podium_scorer* s) {
  size_t rules;
  if (strcmp(r->sums, "float32") == 0)
    s->float_sums = 1;
  else if (r->sums[0] != '\0' && strcmp(r->sums, "float64") != 0)
    return podium_fail(r, "the model adds its values in a way that this scorer does not know");
  if (!podium_has(r, "model.feature_rules")) return 1;
  if (!(s->rules = (uint8_t*)podium_take(r, "model.feature_rules", "U8", 1, &rules))) return 0;
  if (rules != s->features) return podium_fail(r, "there must be one rule per feature");
  for (size_t f = 0; f < s->features; ++f) {
    if (s->rules[f] > 3 || (s->rules[f] != 0 && (s->rules[f] >= 2) != (s->category_of[f] >= 0)))
      return podium_fail(r, "a feature has a rule that it cannot have");
  }
  return 1;
}

static int podium_load_trees(podium_reader* r, podium_scorer* s) {
  size_t offsets, leaf_offsets, category_offsets, n[5], words, bases;
  double* base = NULL;
  s->trees = 1;
  s->features = (size_t)r->n_features;
  if (r->n_outputs != 1)
    return podium_fail(r, "the model has %llu outputs, and this scorer takes one", (unsigned long long)r->n_outputs);
  if (r->n_features > PODIUM_MAX_FEATURES) return podium_fail(r, "the model says that it has too many features");
  if (!(s->node_offsets = (int64_t*)podium_take(r, "model.node_offsets", "I64", 1, &offsets)) ||
      !(s->leaf_offsets = (int64_t*)podium_take(r, "model.leaf_offsets", "I64", 1, &leaf_offsets)) ||
      !(s->feature = (int32_t*)podium_take(r, "model.feature", "I32", 1, &s->n_nodes)) ||
      !(s->threshold = (float*)podium_take(r, "model.threshold", "F32", 1, &n[0])) ||
      !(s->left = (int32_t*)podium_take(r, "model.left", "I32", 1, &n[1])) ||
      !(s->right = (int32_t*)podium_take(r, "model.right", "I32", 1, &n[2])) ||
      !(s->missing_left = (uint8_t*)podium_take(r, "model.missing_left", "U8", 1, &n[3])) ||
      !(s->set = (int32_t*)podium_take(r, "model.set", "I32", 1, &n[4])) ||
      !(s->sets = (uint64_t*)podium_take(r, "model.sets", "U64", 1, &words)) ||
      !(s->value = (double*)podium_take(r, "model.value", "F64", 1, &s->n_leaves)) ||
      !(s->category_features = (int32_t*)podium_take(r, "model.category_features", "I32", 1, &s->n_categorical)) ||
      !(s->category_offsets = (int64_t*)podium_take(r, "model.category_offsets", "I64", 1, &category_offsets)) ||
      !(s->categories = (float*)podium_take(r, "model.categories", "F32", 1, &s->n_categories)) ||
      !(base = (double*)podium_take(r, "model.base", "F64", 1, &bases))) {
    return 0;
  }
  s->base = bases == 1 ? base[0] : (double)NAN;
  free(base);
  s->n_sets = words / 4;
  for (int k = 0; k < 5; ++k) {
    if (n[k] != s->n_nodes) return podium_fail(r, "the arrays of nodes differ in length");
  }
  if (words % 4 != 0 || offsets != leaf_offsets || !podium_check_offsets(s->node_offsets, offsets, s->n_nodes) ||
      !podium_check_offsets(s->leaf_offsets, leaf_offsets, s->n_leaves)) {
    return podium_fail(r, "the offsets of the trees are damaged");
  }
  s->n_trees = offsets - 1;
  if (!isfinite(s->base)) return podium_fail(r, "the model needs one finite base score");
  for (size_t k = 0; k < s->n_leaves; ++k) {
    if (!isfinite(s->value[k])) return podium_fail(r, "the value of a leaf is not finite");
  }
  if (!podium_check_categories(r, s, category_offsets)) return 0;
  for (size_t t = 0; t < s->n_trees; ++t) {
    if (!podium_check_tree(r, s, t)) return 0;
  }
  return podium_load_rules(r, s);
}

static int podium_load_linear(podium_reader* r, podium_scorer* s) {
  size_t n[4], biases;
  double* bias = NULL;
  if (r->widths != 2 || r->width[1] != 1) return podium_fail(r, "the model is not one weight per feature");
  if (r->output[0] != '\0' && strcmp(r->output, "identity") != 0)
    return podium_fail(r, "the model has a transfer function, which this scorer does not know");
  if (!(s->center = (double*)podium_take(r, "model.inputs.center", "F64", 1, &n[0])) ||
      !(s->scale = (double*)podium_take(r, "model.inputs.scale", "F64", 1, &n[1])) ||
      !(s->filled = (double*)podium_take(r, "model.inputs.filled", "F64", 1, &n[2])) ||
      !(s->weights = (double*)podium_take(r, "model.layer1.weights", "F64", 2, &n[3])) ||
      !(bias = (double*)podium_take(r, "model.layer1.bias", "F64", 1, &biases))) {
    return 0;
  }
  s->base = biases == 1 ? bias[0] : (double)NAN;
  free(bias);
  s->features = n[0];
  if (biases != 1 || n[0] != r->width[0] || n[1] != n[0] || n[2] != n[0] || n[3] != n[0])
    return podium_fail(r, "the arrays of the linear model differ in length");
  return 1;
}

void podium_close(podium_scorer* s) {
  if (s == NULL) return;
  free(s->node_offsets), free(s->leaf_offsets), free(s->category_offsets), free(s->feature), free(s->left);
  free(s->right), free(s->set), free(s->category_features), free(s->threshold), free(s->categories);
  free(s->missing_left), free(s->sets), free(s->value), free(s->category_of), free(s->rules);
  free(s->center), free(s->scale), free(s->filled), free(s->weights), free(s);
}

podium_scorer* podium_open_memory(const void* bytes, size_t size, char* error, size_t error_size) {
  const uint16_t one = 1;
  podium_reader* r = (podium_reader*)calloc(1, sizeof *r);
  podium_scorer* s = (podium_scorer*)calloc(1, sizeof *s);
  int good = 0;
  if (r != NULL && s != NULL) {
    r->bytes = (const unsigned char*)bytes, r->size = size, r->error = error, r->error_size = error_size;
    if (*(const unsigned char*)&one != 1) {
      podium_fail(r, "this scorer runs on little-endian machines only");
    } else if (podium_read_tensors(r) && podium_read_header(r) && podium_check_bytes(r)) {
      if (strcmp(r->kind, "trees") == 0) {
        good = podium_load_trees(r, s);
      } else if (strcmp(r->kind, "linear") == 0) {
        good = podium_load_linear(r, s);
      } else {
        podium_fail(r, "the model is of kind %s, and this scorer takes trees and linear models", r->kind);
      }
      if (good && (!r->counted || r->count != s->features))
        good = podium_fail(r, "the file gives another number of features than its model has, %lu",
                           (unsigned long)s->features);
    }
  } else if (error != NULL && error_size > 0) {
    snprintf(error, error_size, "there is not enough memory");
  }
  if (r != NULL) free(r->header);
  free(r);
  if (good) return s;
  podium_close(s);
  return NULL;
}

podium_scorer* podium_open(const char* path, char* error, size_t error_size) {
  podium_scorer* s = NULL;
  unsigned char* bytes = NULL;
  size_t size = 0, room = 0, read;
  FILE* file = fopen(path, "rb");
  if (file != NULL) {
    do { /* read as far as it goes: the size of a pipe is not known in advance */
      if (size == room) {
        room = room == 0 ? (size_t)1 << 16 : 2 * room;
        unsigned char* more = (unsigned char*)realloc(bytes, room);
        if (more == NULL) break;
        bytes = more;
      }
      read = fread(bytes + size, 1, room - size, file);
      size += read;
    } while (read > 0);
    if (!ferror(file) && feof(file))
      s = podium_open_memory(bytes, size, error, error_size);
    else if (error != NULL && error_size > 0)
      snprintf(error, error_size, "%s cannot be read", path);
    fclose(file);
  } else if (error != NULL && error_size > 0) {
    snprintf(error, error_size, "%s cannot be opened", path);
  }
  free(bytes);
  return s;
}

size_t podium_features(const podium_scorer* s) {
  return s->features;
}

/* ---- scoring ---- */

/* The number of a category, or 255 for any other value. */
static unsigned podium_category(const podium_scorer* s, int32_t k, float value) {
  int64_t low = s->category_offsets[k], high = s->category_offsets[k + 1];
  const int64_t first = low, last = high;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (s->categories[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low < last && s->categories[low] == value ? (unsigned)(low - first) : 255u;
}

/* A feature's value as the trees see it: 1: -1e-35 to 1e-35 is missing; 2: a category without its fraction; 3: a
 * category rounded down, and -1 for one that is not known. */
static float podium_ruled(const podium_scorer* s, size_t feature, float value) {
  if (s->rules == NULL || s->rules[feature] == 0 || isnan(value)) return value;
  if (s->rules[feature] == 1) return fabsf(value) <= 1e-35f ? (float)NAN : value;
  if (s->rules[feature] == 2) return truncf(value);
  return podium_category(s, s->category_of[feature], floorf(value)) == 255 ? -1.0f : floorf(value);
}

static double podium_score_trees(const podium_scorer* s, const float* x) {
  double sum = s->float_sums ? s->base : 0;
  for (size_t t = 0; t < s->n_trees; ++t) {
    const int64_t first = s->node_offsets[t];
    int32_t node = s->node_offsets[t + 1] > first ? 0 : -1;
    while (node >= 0) {
      const int64_t n = first + node;
      const float value = podium_ruled(s, (size_t)s->feature[n], x[s->feature[n]]);
      int left;
      if (s->set[n] >= 0) {
        const unsigned c = podium_category(s, s->category_of[s->feature[n]], value);
        left = (int)(s->sets[4 * (size_t)s->set[n] + c / 64] >> (c % 64) & 1);
      } else {
        left = isnan(value) ? s->missing_left[n] != 0 : value <= s->threshold[n];
      }
      node = left ? s->left[n] : s->right[n];
    }
    sum += s->value[s->leaf_offsets[t] - 1 - (int64_t)node];
    if (s->float_sums) sum = (double)(float)sum;
  }
  return s->float_sums ? sum : sum + s->base;
}

/* Eight running sums, each of every eighth feature, are added as a tree: the order that gives Python's bits. */
static double podium_score_linear(const podium_scorer* s, const float* x) {
  double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (size_t f = 0; f < s->features; ++f) {
    const double value = (double)x[f], moved = (value - s->center[f]) * s->scale[f];
    lane[f % 8] = fma(isnan(value) ? s->filled[f] : moved, s->weights[f], lane[f % 8]);
  }
  const double a = (lane[0] + lane[4]) + (lane[1] + lane[5]), b = (lane[2] + lane[6]) + (lane[3] + lane[7]);
  return (a + b) + s->base;
}

int podium_score(const podium_scorer* s, const float* features, size_t count, double* scores) {
  int bad = 0;
  for (size_t i = 0; i < count; ++i, features += s->features) {
    for (size_t f = 0; f < s->features; ++f) bad |= isinf(features[f]) != 0;
    scores[i] = s->trees ? podium_score_trees(s, features) : podium_score_linear(s, features);
    bad |= !isfinite(scores[i]);
  }
  return bad;
}

#endif /* PODIUM_SCORER_IMPLEMENTED */
#endif /* PODIUM_SCORER_IMPLEMENTATION */
