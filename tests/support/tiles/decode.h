/* Tile sizes of decoding, for small.c, three.c and odd.c. */
#define FOVEA_VALUE_FETCH_ROWS     16
#define FOVEA_DECODE_ROWS          9
#define FOVEA_DECODE_KEY_VECTORS_8 1
#define FOVEA_DECODE_KEY_VECTORS_4 1
#define FOVEA_DECODE_KEY_VECTORS_2 3
#define FOVEA_DECODE_KEY_VECTORS_1 5
#define FOVEA_DECODE_VECTORS_1     5
#define FOVEA_DECODE_CODES         2
#define FOVEA_DECODE_VECTORS_8     1
#define FOVEA_DECODE_VECTORS_4     1
#define FOVEA_DECODE_VECTORS_2     3
