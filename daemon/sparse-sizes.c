// SPDX-License-Identifier: GPL-2.0-or-later
#include "sparse-sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES (2 * SIZE_CLASSES)

_Static_assert(CLASSES <= 32, "a bit for each class");

static uint64_t number_of(const struct pipe_sizes *sizes, int i)
{
	const uint64_t *const directions[] = { sizes->reads, sizes->writes };

	return directions[i / SIZE_CLASSES][i % SIZE_CLASSES];
}

static uint32_t classes_of(const struct pipe_sizes *sizes)
{
	uint32_t classes = 0;

	for (int i = 0; i < CLASSES; i++)
		classes |= (uint32_t)(number_of(sizes, i) != 0) << i;
	return classes;
}

int sparse_sizes_reserve(struct sparse_sizes *s, const struct pipe_sizes *add)
{
	uint32_t classes = s->classes | classes_of(add);
	struct pipe_sizes sizes;
	uint64_t *numbers;

	if (classes == s->classes)
		return 0;
	sparse_sizes_get(s, &sizes);
	numbers = reallocarray(s->numbers, __builtin_popcount(classes), sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	s->numbers = numbers;
	s->classes = classes;
	for (int i = 0; i < CLASSES; i++)
		if (classes & UINT32_C(1) << i)
			*numbers++ = number_of(&sizes, i);
	return 0;
}

void sparse_sizes_add(struct sparse_sizes *sum, const struct pipe_sizes *add)
{
	uint64_t *number = sum->numbers;

	for (int i = 0; i < CLASSES; i++)
		if (sum->classes & UINT32_C(1) << i)
			*number++ += number_of(add, i);
}

void sparse_sizes_get(const struct sparse_sizes *s, struct pipe_sizes *ret)
{
	const uint64_t *number = s->numbers;

	for (int i = 0; i < SIZE_CLASSES; i++)
		ret->reads[i] = s->classes & UINT32_C(1) << i ? *number++ : 0;
	for (int i = 0; i < SIZE_CLASSES; i++)
		ret->writes[i] = s->classes & UINT32_C(1) << (SIZE_CLASSES + i) ? *number++ : 0;
}

void sparse_sizes_clear(struct sparse_sizes *s)
{
	free(s->numbers);
	*s = (struct sparse_sizes){};
}
