#!/bin/sh
# headers.sh INCLUDE_FOLDER C_COMPILER...: every public header compiles alone, as C11 and C++17, pedantic.
set -eu
include=$1
shift
compile() { # LANGUAGE STANDARD HEADER COMPILER...
    language=$1 standard=$2 header=$3
    shift 3
    echo "#include <flashcl/$header>" |
        "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only - ||
        { echo "$header does not compile alone as $standard"; exit 1; }
}
for path in "$include"/flashcl/*.h; do
    compile c c11 "$(basename "$path")" "$@"
    compile c++ c++17 "$(basename "$path")" "$@"
done
