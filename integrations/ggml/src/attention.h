/* A node of FLASH_ATTN_EXT as a problem of Fovea, computed in steps: all threads take tasks of a step until none is
 * left, wait for each other, and one of them makes the next step. */
#ifndef FOVEA_GGML_ATTENTION_H
#define FOVEA_GGML_ATTENTION_H

#include "door.h"

#include <fovea/format.h>

#include <atomic>

class Attention {
public:
  /* Who computes a node, by its types and shapes: ggml, Fovea in ggml's threads, or the device. */
  enum Place { BY_GGML, IN_THREADS, BY_DEVICE };
  static Place place(const abi::Tensor *node);

  static double work(const abi::Tensor *node); /* multiply-adds */

  /* The bytes of memory that a node which is taken needs for so many workers; 0 if Fovea refuses it. Makes a plan, unless
   * this thread asked for the same sizes lately. */
  static size_t size(const abi::Tensor *node, int workers);

  /* Where an object is in such memory. NULL: it is too small. */
  static Attention *in(void *memory, size_t size);

  /* Makes the first step; the memory ends at `end`. Allocates nothing. */
  void begin(const abi::Tensor *node, int workers, void *end);
  void next(); /* makes the next step */

  void run_tasks(int worker); /* until none is left */
  static void run_task(const void *attention, int64_t task, int worker);

  bool failed() const { return failed_; } /* a step could not be made */
  bool is_last() const;
  int64_t tasks() const { return tasks_; }

private:
  bool begin_pass();
  void begin_phase(int phase);
  const fovea_sequence *fill_sequences(char *memory);
  void write_bias(int64_t row) const;

  std::atomic<int64_t> next_task_;
  int64_t tasks_;
  int workers_, phase_; /* phase -1: rows of the mask are written; others are the plan's */
  bool failed_;
  const abi::Tensor *node_;
  char *end_;
  int64_t element_, row_, rows_; /* of the pass: its first batch element, its rows */
  fovea_problem problem_;
  fovea_plan *plan_;
  fovea_run *run_;
  fovea_format k_format_, v_format_;
  float *bias_; /* (heads, rows, keys); NULL: the mask is used as it lies */
};

#endif
