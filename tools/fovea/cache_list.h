/* fovea cache --list: the formats that have names. */
#ifndef FOVEA_TOOLS_CACHE_LIST_H
#define FOVEA_TOOLS_CACHE_LIST_H

void cache_list(void);

#endif
