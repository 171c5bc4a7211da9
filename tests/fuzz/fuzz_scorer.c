/* libFuzzer's entry to the C scorer: any bytes are a model or an error, and a model scores any document. */
#define PODIUM_SCORER_IMPLEMENTATION
#define PODIUM_SCORER_FUZZING
#include "podium_scorer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char error[128];
  podium_scorer *scorer = podium_open_memory(bytes, size, error, sizeof error);
  if (scorer == NULL) return error[0] == 0; /* an error has a sentence */
  const size_t features = podium_features(scorer);
  if (features <= 4096) {
    float *row = (float *)malloc(features * sizeof *row + 1);
    double score;
    for (int kind = 0; kind < 4; ++kind) {
      for (size_t f = 0; f < features; ++f) row[f] = kind == 0 ? NAN : kind == 1 ? 0.0f : kind == 2 ? -1e30f : (float)f;
      podium_score(scorer, row, 1, &score);
    }
    free(row);
  }
  podium_close(scorer);
  return 0;
}
