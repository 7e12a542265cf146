// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts-books.h"

#include <errno.h>
#include <string.h>

int accounts_unit_ref(struct accounts *a, const char *name, struct unit **ret_unit)
{
	size_t length = strlen(name);
	struct unit *u = NULL;
	unsigned int hash;

	if (length == 0)
		goto found;
	HASH_VALUE(name, length, hash);
	HASH_FIND_BYHASHVALUE(hh, a->units, name, length, hash, u);
	if (u) {
		u->refs++;
		goto found;
	}
	u = calloc(1, sizeof(*u) + length + 1);
	if (!u)
		return -ENOMEM;
	u->refs = 1;
	memcpy(u->name, name, length);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, a->units, u->name, length, hash, u);
	if (!u->hh.tbl) {
		free(u);
		return -ENOMEM;
	}
found:
	*ret_unit = u;
	return 0;
}

void accounts_unit_unref(struct accounts *a, struct unit *u)
{
	if (!u || --u->refs > 0)
		return;
	HASH_DEL(a->units, u);
	free(u);
}
