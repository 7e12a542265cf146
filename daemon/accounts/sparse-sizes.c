// SPDX-License-Identifier: GPL-2.0-or-later
#include "sparse-sizes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(2 * SIZE_CLASSES <= 32, "a bit for each class");

static uint64_t *number_at(struct pipe_sizes *sizes, int i)
{
	return i < SIZE_CLASSES ? &sizes->reads[i] : &sizes->writes[i - SIZE_CLASSES];
}

static uint32_t classes_of(const struct pipe_sizes *sizes)
{
	uint32_t classes = 0;

	for (int i = 0; i < SIZE_CLASSES; i++) {
		classes |= (uint32_t)(sizes->reads[i] != 0) << i;
		classes |= (uint32_t)(sizes->writes[i] != 0) << (SIZE_CLASSES + i);
	}
	return classes;
}

/* The number of the lowest of @classes, which is taken out of them. */
static int class_take(uint32_t *classes)
{
	int i = __builtin_ctz(*classes);

	*classes &= *classes - 1;
	return i;
}

static bool is_one(uint32_t classes)
{
	return (classes & (classes - 1)) == 0;
}

static uint64_t *numbers_of(const struct sparse_sizes *s)
{
	return is_one(s->classes) ? (uint64_t *)&s->number : s->numbers;
}

int sparse_sizes_reserve(struct sparse_sizes *s, const struct pipe_sizes *add)
{
	uint32_t classes = s->classes | classes_of(add);
	struct pipe_sizes sizes;
	uint64_t *numbers;

	if (classes == s->classes)
		return 0;
	if (is_one(classes)) {
		s->classes = classes;
		return 0;
	}
	numbers = calloc(__builtin_popcount(classes), sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	sparse_sizes_get(s, &sizes);
	sparse_sizes_clear(s);
	s->numbers = numbers;
	s->classes = classes;
	sparse_sizes_add(s, &sizes);
	return 0;
}

void sparse_sizes_add(struct sparse_sizes *sum, const struct pipe_sizes *add)
{
	uint64_t *number = numbers_of(sum);

	for (uint32_t classes = sum->classes; classes;)
		*number++ += *number_at((struct pipe_sizes *)add, class_take(&classes));
}

void sparse_sizes_get(const struct sparse_sizes *s, struct pipe_sizes *ret)
{
	const uint64_t *number = numbers_of(s);

	memset(ret, 0, sizeof(*ret));
	for (uint32_t classes = s->classes; classes;)
		*number_at(ret, class_take(&classes)) = *number++;
}

void sparse_sizes_clear(struct sparse_sizes *s)
{
	if (!is_one(s->classes))
		free(s->numbers);
	*s = (struct sparse_sizes){};
}
