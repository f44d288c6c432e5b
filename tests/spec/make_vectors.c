/* Writes spec/vectors: make_vectors <new directory>. Every expected bit comes from the contract programs of tests/, and
 * none from the library. */
#include "vectors.h"

#include <stdio.h>
#include <sys/stat.h>

int main(int count, char **words) {
  if (count != 2 || mkdir(words[1], 0777) != 0) {
    fprintf(stderr, "usage: make_vectors <new directory>\n");
    return 2;
  }
  vectors_open(words[1]);
  write_functions();
  write_attention();
  write_rotary_vectors();
  write_caches();
  write_modes();
  write_scaling();
  write_moved_keys();
  write_hadamard();
  write_centres();
  write_caches_not_finite();
  write_more_scaling();
  write_kivi_of_f32();
  write_last_scaling();
  write_layers();
  write_weights();
  write_int8_layers();
  write_embeddings();
  write_multi_head();
  write_models();
  write_streams();
  write_selection();
  write_differential();
  write_linformer();
  write_stack();
  write_performers();
  write_longformer();
  write_bigbird();
  write_reformers();
  write_latent();
  write_graphs();
  vectors_close();
  return 0;
}
