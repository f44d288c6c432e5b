/* Quantised weights of linear layers: packed from the bytes that engines publish, or made of weights in rows. */
#ifndef FOVEA_WEIGHTS_H
#define FOVEA_WEIGHTS_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Formats of quantised weights. Formats of blocks are ggml's (`gguf` files): W (out, in) row by row, each row some
 * blocks of 32 or 256 dims, so `in` is a multiple of that. Numbers are those of ggml's dequantize functions, to the
 * bit. */
typedef enum fovea_nn_format {
  FOVEA_NN_FORMAT_Q8_0 = 0, /* 32 dims: code * d */
  FOVEA_NN_FORMAT_Q4_0 = 1, /* 32 dims: (code - 8) * d */
  FOVEA_NN_FORMAT_Q4_1 = 2, /* 32 dims: code * d + m */
  FOVEA_NN_FORMAT_Q5_0 = 3, /* 32 dims: (code - 16) * d */
  FOVEA_NN_FORMAT_Q5_1 = 4, /* 32 dims: code * d + m */
  FOVEA_NN_FORMAT_Q4_K =
      5, /* 256 dims, for each 32 of them a scale and a minimum: code * d * scale - dmin * minimum */
  FOVEA_NN_FORMAT_Q5_K = 6,   /* as Q4_K */
  FOVEA_NN_FORMAT_Q6_K = 7,   /* 256 dims, for each 16 of them a scale: (code - 32) * d * scale */
  FOVEA_NN_FORMAT_IQ4_NL = 8, /* 32 dims: table[code] * d */
  FOVEA_NN_FORMAT_MXFP4 = 9,  /* 32 dims: the e2m1 number of the code, times 2^(e - 127), also if e is 255 */

  /* 4 bits with zero points, (code - zero) * scale, in tensors of words of 32 bits, and scales of f16. W lies dims
   * first: qweight is (in / 8, out) of GPTQ, eight dims a word, and (in, out / 8) of AWQ, eight outputs a word. */
  FOVEA_NN_FORMAT_GPTQ = 10,
  FOVEA_NN_FORMAT_AWQ = 11,

  /* Codes of fp8, OCP's e4m3 (PyTorch's float8_e4m3fn): the number of the code, times a scale. W is (out, in), a byte a
   * weight, as compressed-tensors (vLLM), DeepSeek-V3 and Qwen publish it. */
  FOVEA_NN_FORMAT_E4M3 = 12
} fovea_nn_format;

/* Quantised weights as an engine keeps them. Prepare it with fovea_nn_codes_init(). Pointers need no alignment. */
typedef struct fovea_nn_codes {
  size_t struct_size;     /* set by fovea_nn_codes_init() */
  fovea_nn_format format; /* of `data` */
  int64_t in, out;        /* of the layer. Of GPTQ and AWQ multiples of 8 */
  const void *data;       /* the blocks, row by row; of GPTQ and AWQ qweight; of E4M3 the codes, row by row */

  /* Of GPTQ, AWQ and E4M3; else their defaults. Dims that share a scale (group_size): 16, 32, 64, 128, or `in`: all.
   * With `groups` of them in a row of W, scales are (groups, out) of f16, and zeros (qzeros) (groups, out / 8) of words.
   * Of E4M3 scales are as said below, and there are no zeros. */
  int64_t group;      /* default 0 */
  const void *scales; /* default NULL */
  const void *zeros;  /* default NULL */
  /* GPTQ: 1 if zeros are stored less 1, as AutoGPTQ stores them (checkpoint_format "gptq"); 0 (default) if not
   * ("gptq_v2"). A stored 15 then stands for 16. */
  int zeros_less_one;

  /* Of E4M3; else their defaults. Outputs that share a scale: scales (weight_scale, weight_scale_inv) are
   * (outputs / group_outs, groups), both rounded up, of scale_type. One scale for W: group_outs = out, group = in. One
   * for each output: group_outs = 1, group = in. Blocks of 128 x 128 (weight_block_size): 128 and 128. */
  int64_t group_outs;    /* default 0 */
  fovea_type scale_type; /* default FOVEA_F32 */

  /* GPTQ: the group of each dim, 32 bits each, if dims of a group may be anywhere (desc_act). NULL (default): dim / group.
   * The packed weights take a word a dim more; if dims are in their order, that is left unused. */
  const void *g_idx;
} fovea_nn_codes;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_codes_init(). */
FOVEA_NN_API void fovea_nn_codes_init_sized(fovea_nn_codes *codes, size_t struct_size, fovea_nn_format format,
                                            int64_t in, int64_t out, const void *data);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_codes_init(fovea_nn_codes *codes, fovea_nn_format format, int64_t in, int64_t out,
                                       const void *data) {
  fovea_nn_codes_init_sized(codes, sizeof *codes, format, in, out, data);
}

/* Sets *size to the bytes that the packed weights take: their header, and 4 or 8 bits a weight with scales of f32.
 * SIZE_MAX: more than can be. No pointer of `codes` is read, and each may be NULL. */
FOVEA_NN_API fovea_status fovea_nn_codes_size(const fovea_nn_codes *codes, size_t *size, fovea_error *error);

/* Packs them into `weights`, as FOVEA_NN_WEIGHTS_QUANTISED, so many bytes at an address that is a multiple of 64, apart
 * from what is read. No number changes, and the bytes are the same on every CPU, so they may be kept in a file for the
 * same version of the library. A layer with these weights computes as with f32 weights of these numbers
 * (docs/numerics.md, L1). */
FOVEA_NN_API fovea_status fovea_nn_pack_codes(const fovea_nn_codes *codes, void *weights,
                                              const fovea_execution *execution, fovea_error *error);

/* Returns the bytes of the weights that fovea_nn_quantise() writes. 0 if a size is below 1, or if they would be more
 * than can be. */
FOVEA_NN_API size_t fovea_nn_quantised_size(int64_t in, int64_t out);

/* Quantises the weights of a layer (in rows) to codes of 8 bits: each output has one scale, its largest weight / 127,
 * and the nearest whole multiples of it. Weights of an output with NaN or an infinity become NaN. `quantised` has
 * fovea_nn_quantised_size() bytes, at an address that is a multiple of 64, apart from the weights; it is what a layer of
 * layout FOVEA_NN_WEIGHTS_QUANTISED takes, the same for every instruction set. FOVEA_ERROR_UNSUPPORTED in a build
 * without int8 mode or without quantised weights. */
FOVEA_NN_API fovea_status fovea_nn_quantise(const fovea_nn_linear *linear, void *quantised,
                                            const fovea_execution *execution, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
