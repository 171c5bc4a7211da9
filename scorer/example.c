/* Scores the documents of a text file, one per line, with a Podium model:
 *
 *     cc -O2 -o podium-score scorer/example.c -lm
 *     podium-score model.podium documents.txt
 *
 * A line holds the features of a document, separated by blanks, commas or tabs; "nan" is a missing value. */
#define PODIUM_SCORER_IMPLEMENTATION
#include "podium_scorer.h"

static int score_line(const podium_scorer* scorer, char* line, float* row, unsigned long number) {
  size_t count = 0;
  double score;
  for (char* word = strtok(line, " ,\t\r\n"); word != NULL; word = strtok(NULL, " ,\t\r\n")) {
    char* end;
    const float value = strtof(word, &end);
    if (*end != 0) return fprintf(stderr, "line %lu: \"%s\" is not a number\n", number, word), 1;
    if (count < podium_features(scorer)) row[count] = value;
    ++count;
  }
  if (count != podium_features(scorer)) {
    fprintf(stderr, "line %lu has %lu features, and the model needs %lu\n", number, (unsigned long)count,
            (unsigned long)podium_features(scorer));
    return 1;
  }
  if (podium_score(scorer, row, 1, &score) != 0) return fprintf(stderr, "line %lu has an infinite value\n", number), 1;
  printf("%.17g\n", score);
  return 0;
}

int main(int argc, char** argv) {
  char error[256];
  if (argc != 3) return fprintf(stderr, "usage: %s MODEL DOCUMENTS\n", argv[0]), 2;
  podium_scorer* scorer = podium_open(argv[1], error, sizeof error);
  if (scorer == NULL) return fprintf(stderr, "%s: %s\n", argv[1], error), 1;
  FILE* file = fopen(argv[2], "r");
  if (file == NULL) return fprintf(stderr, "%s cannot be opened\n", argv[2]), podium_close(scorer), 1;
  const size_t room = 64 * (podium_features(scorer) + 16); /* characters of a line */
  char* line = (char*)malloc(room);
  float* row = (float*)malloc((podium_features(scorer) + 1) * sizeof *row);
  int failed = line == NULL || row == NULL;
  for (unsigned long number = 1; !failed && fgets(line, (int)room, file) != NULL; ++number) {
    if (strchr(line, '\n') == NULL && !feof(file))
      failed = fprintf(stderr, "line %lu is too long\n", number) > 0;
    else
      failed = score_line(scorer, line, row, number);
  }
  free(line), free(row), fclose(file), podium_close(scorer);
  return failed;
}
