#include "page_users.h"

#include "copying.h"
#include "expect.h"
#include "wild.h"

void pool_create(struct pool *pool) {
  memset(pool, 0, sizeof *pool);
  pool->references = malloc(POOL_PAGES * sizeof *pool->references);
  if (pool->references == NULL) abort();
  EXPECT(fovea_page_pool_init(&pool->pool, pool->references, POOL_PAGES, NULL) == FOVEA_OK);
}

void pool_destroy(struct pool *pool) {
  free(pool->references);
}

static void expect_pool(const struct pool *pool) {
  int32_t free_pages = 0;
  for (int32_t page = 0; page < POOL_PAGES; page++) {
    free_pages += pool->users[page] == 0;
    EXPECT(fovea_page_is_shared(&pool->pool, page) == (pool->users[page] > 1));
    EXPECT(pool->references[page] == pool->users[page] || (pool->references[page] < 0 && pool->users[page] == 0));
  }
  EXPECT(pool->pool.free_count == free_pages && pool->pool.count == POOL_PAGES);
}

void use_pool(struct scene *scene, struct pool *pool) {
  const int64_t kind = bytes_below(scene->bytes, 4);
  const struct pool before = *pool;
  int32_t page = scene->wild && bytes_one_in(scene->bytes, 8) ? (int32_t)wild_number(scene->bytes)
                                                              : (int32_t)bytes_below(scene->bytes, POOL_PAGES);
  const int32_t asked = page;
  const int used = page >= 0 && page < POOL_PAGES && pool->users[page] > 0;
  fovea_error error;
  if (kind < 2) {
    const fovea_status status = fovea_page_take(&pool->pool, &page, &error);
    EXPECT((status == FOVEA_OK) == (before.pool.free_count > 0));
    if (status == FOVEA_OK) EXPECT(page >= 0 && page < POOL_PAGES && pool->users[page]++ == 0);
    if (status != FOVEA_OK) expect_failure(status, &error);
    if (status != FOVEA_OK) EXPECT(page == asked && memcmp(&before, pool, sizeof before) == 0);
  } else {
    const fovea_status status =
        kind == 2 ? fovea_page_share(&pool->pool, page, &error) : fovea_page_release(&pool->pool, page, &error);
    EXPECT((status == FOVEA_OK) == used);
    if (status == FOVEA_OK) pool->users[page] += kind == 2 ? 1 : -1;
    if (status != FOVEA_OK) expect_failure(status, &error);
    if (status != FOVEA_OK) EXPECT(memcmp(&before, pool, sizeof before) == 0);
  }
  expect_pool(pool);
}

/* Makes sequences of the first rows of two pages. Returns 0 if the pages are not valid. */
static int pages_as_sequences(const fovea_pages *pages, int32_t from, int32_t to, fovea_segment segments[2],
                              fovea_sequence sequences[2]) {
  const int64_t numbers[2] = {from, to};
  if (!are_pages(pages)) return 0;
  for (int i = 0; i < 2; i++) {
    if (fovea_cache_contiguous(pages, numbers[i], &segments[i], NULL) != FOVEA_OK) return 0;
    sequences[i] = fovea_sequence_of(&segments[i], 1);
  }
  return 1;
}

/* The page is copied to the pool's next free page. */
struct own_call {
  int32_t page, next;
  int64_t rows;
  struct row_shape shape;
  fovea_segment segments[2];
  fovea_sequence sequences[2];
};

static enum verdict judge_own(struct scene *scene, struct own_call *call) {
  const fovea_pages *pages = &scene->pages;
  call->shape = (struct row_shape){pages->kv_heads, pages->qk_dim, pages->v_dim};
  if (!pages_as_sequences(pages, call->page, call->next, call->segments, call->sequences)) return VERDICT_REFUSED;
  if (pages->kv_heads > HEADS_JUDGED || pages->qk_dim > DIM_LIMIT || pages->v_dim > DIM_LIMIT)
    return VERDICT_ELSEWHERE;
  return judge_copy(&scene->arena, &call->shape, &call->sequences[0], &call->sequences[1], 0, call->rows);
}

/* The page has no other user, or no page is free: nothing is copied. */
static void own_nothing(struct scene *scene, struct pool *pool, const struct own_call *call) {
  const struct pool before = *pool;
  int32_t page = call->page;
  const fovea_status status = fovea_page_own(&scene->pages, 1, &pool->pool, &page, call->rows, NULL);
  EXPECT((status == FOVEA_OK) == (pool->users[page] == 1));
  EXPECT(page == call->page && memcmp(&before, pool, sizeof before) == 0);
  EXPECT(arena_is_as_modelled(&scene->arena));
  expect_pool(pool);
}

void own_page(struct scene *scene, struct pool *pool) {
  const int64_t page_rows = scene->pages.page_rows, most = page_rows > 0 && page_rows < 64 ? page_rows : 1;
  struct own_call call = {.page = (int32_t)bytes_below(scene->bytes, POOL_PAGES), .next = pool->pool.first_free};
  call.rows = bytes_below(scene->bytes, most + 1);
  if (scene->wild && bytes_one_in(scene->bytes, 8)) call.rows = wild_number(scene->bytes);
  if (pool->users[call.page] < 2 || pool->pool.free_count == 0) {
    own_nothing(scene, pool, &call);
    return;
  }
  const enum verdict verdict = judge_own(scene, &call);
  if (verdict == VERDICT_ELSEWHERE) return;
  const struct pool before = *pool;
  int32_t references[POOL_PAGES], page = call.page;
  memcpy(references, pool->references, sizeof references);
  fovea_error error;
  const fovea_status status = fovea_page_own(&scene->pages, 1, &pool->pool, &page, call.rows, &error);
  if (status == FOVEA_OK) {
    EXPECT(page == call.next && verdict == VERDICT_RIGHT);
    pool->users[call.page]--;
    pool->users[page]++;
    copy_in_model(&scene->arena, &call.shape, &call.sequences[0], &call.sequences[1], 0, call.rows);
  } else {
    EXPECT(page == call.page && memcmp(&before, pool, sizeof before) == 0);
    EXPECT(memcmp(references, pool->references, sizeof references) == 0);
  }
  expect_pool(pool);
  expect_verdict(scene, verdict, status, &error);
}
