// cmocka wants these before itself.
#ifndef FCL_TESTS_CMOCKA_ALL_H
#define FCL_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
