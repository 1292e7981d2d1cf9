#!/bin/sh
# SPDX-License-Identifier: MIT
# Finds out, once, what this compiler and this machine offer; writes config.mk and config.h.
# usage: probe.sh CC PKG_CONFIG VERSION BUILD
set -eu

cc=$1 pkg=$2 version=$3 build=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$build"

# ---- rows

# Flags; those that this compiler lacks drop out.
warn='-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
-Wmissing-variable-declarations -Wformat=2 -Wundef -Wvla -Wpointer-arith -Wwrite-strings
-Wcast-qual -Wcast-align -Wconversion -Wno-sign-conversion -Wdouble-promotion
-Wimplicit-fallthrough -Wnull-dereference -Wdate-time'
warn_gcc='-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wtrampolines'
warn_clang='-Watomic-implicit-seq-cst -Wimplicit-int-conversion'
# no-math-errno: a square root is an instruction
hard='-fno-common -fno-strict-aliasing -fstack-protector-strong -fno-math-errno'

# Of the linker; what this one, or the C library, lacks drops out. Relocations take 2 KB, not 140 KB.
link='-Wl,-z,pack-relative-relocs'

# Optional libraries: NAME header function pkg-config-name Debian-package
optional='
URING liburing.h io_uring_submit_and_get_events liburing liburing-dev
'

# ---- how

die() {
	echo "netdyno: $*" >&2
	exit 1
}

# flags CANDIDATE...: prints those that the compiler takes; all in one try, else one by one.
flags() {
	echo 'typedef int t;' >"$tmp/flag.c"
	# shellcheck disable=SC2086 # CC may hold arguments
	if $cc -Werror "$@" -c -o "$tmp/flag.o" "$tmp/flag.c" 2>/dev/null; then
		echo "$*"
		return
	fi
	for f; do
		# shellcheck disable=SC2086
		if $cc -Werror "$f" -c -o "$tmp/flag.o" "$tmp/flag.c" 2>/dev/null; then
			printf '%s ' "$f"
		fi
	done
	echo
}

# links HEADER FUNCTION FLAG...: can a program with that header and function be linked?
links() {
	header=$1 function=$2
	shift 2
	printf '#include <%s>\nint main(void)\n{\n\treturn (void *)&%s == (void *)0;\n}\n' \
		"$header" "$function" >"$tmp/lib.c"
	# shellcheck disable=SC2086
	$cc -std=gnu11 -D_GNU_SOURCE -o "$tmp/lib" "$tmp/lib.c" "$@" 2>/dev/null
}

# shellcheck disable=SC2086
$cc --version >/dev/null 2>&1 || die "the compiler '$cc' does not run (Debian: apt-get install gcc libc6-dev)"
$pkg --version >/dev/null 2>&1 ||
	die "'$pkg' does not run; it is needed to find libraries (Debian: apt-get install pkgconf)"
$pkg --exists jansson ||
	die "the JSON library jansson was not found (Debian: apt-get install libjansson-dev)"

lib_cflags=$($pkg --cflags jansson)
# libm is for compilers that call it where others write an instruction, see src/base/real.h; libdl is part of
# newer C libraries
libs="$($pkg --libs jansson) -Wl,--as-needed -lm -ldl -Wl,--no-as-needed"
# shellcheck disable=SC2086
links jansson.h json_loadb $lib_cflags $libs ||
	die "'$pkg' knows jansson, but '$cc' cannot link it (Debian: apt-get install libjansson-dev)"

features='' defines=''
echo "  PROBE   $($cc --version | head -n 1)"
echo "  PROBE   jansson: $($pkg --modversion jansson)"
while read -r name header function module package; do
	[ -n "$name" ] || continue
	word=$(echo "$name" | tr '[:upper:]' '[:lower:]')
	c='' l='' have=0
	if $pkg --exists "$module"; then
		c=$($pkg --cflags "$module") l=$($pkg --libs "$module")
		# shellcheck disable=SC2086
		if links "$header" "$function" $c $l; then have=1; fi
	fi
	if [ $have = 1 ]; then
		echo "  PROBE   $word: $($pkg --modversion "$module")"
		lib_cflags="$lib_cflags $c" libs="$libs $l" features="$features $word=yes"
	else
		echo "  PROBE   $word: no, left out (Debian: $package)"
		features="$features $word=no"
	fi
	defines="$defines#define ND_HAVE_$name $have
"
done <<END
$optional
END

# Packed relocations need a C library that unpacks them: it is asked whether it runs what was linked.
link_flags=''
echo 'static int n; int *const p = &n; int main(void) { return p != &n; }' >"$tmp/link.c"
for f in $link; do
	# shellcheck disable=SC2086
	if $cc -o "$tmp/link" "$tmp/link.c" "$f" 2>"$tmp/link.err" && [ ! -s "$tmp/link.err" ] &&
		"$tmp/link" 2>/dev/null; then
		link_flags="$link_flags $f"
	fi
done

have_cmocka=no cmocka_cflags='' cmocka_libs=''
if $pkg --exists cmocka; then
	have_cmocka=yes cmocka_cflags=$($pkg --cflags cmocka) cmocka_libs=$($pkg --libs cmocka)
fi

cat >"$build/config.h" <<END
/* Written by scripts/probe.sh; included in front of every source file. */
#ifndef ND_CONFIG_H
#define ND_CONFIG_H
#define ND_VERSION "$version"
#define ND_FEATURES "${features# }"
$defines#endif
END

# shellcheck disable=SC2086
cat >"$tmp/config.mk" <<END
# Written by scripts/probe.sh; make clean forgets it.
WARN := $(flags $warn) $(flags $warn_gcc) $(flags $warn_clang)
HARD := $(flags $hard)
LIB_CFLAGS := $lib_cflags
LINK_FLAGS :=$link_flags
LIBS := $libs
HAVE_CMOCKA := $have_cmocka
CMOCKA_CFLAGS := $cmocka_cflags
CMOCKA_LIBS := $cmocka_libs
END
mv "$tmp/config.mk" "$build/config.mk"
