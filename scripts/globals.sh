#!/bin/sh
# SPDX-License-Identifier: MIT
# No mutable globals: fails when an object file holds a writable variable, thread-local ones included.
# usage: globals.sh OBJECT...
# Constant data that only needs relocation (.data.rel.ro) is fine, which is why nm is not enough.
set -eu

# The exceptions, as "folder/file.o symbol"; each with its reason.
#   the log level: set once from the command line, before there is a second thread
allowed='
base/log.o level
base/log.o log_level
base/log.o nd_log_level
'

[ $# -gt 0 ] || { echo "usage: globals.sh OBJECT..." >&2; exit 2; }

objdump -t "$@" | awk -v allowed="$allowed" '
BEGIN {
	n = split(allowed, line, "\n")
	for (i = 1; i <= n; i++)
		ok[line[i]] = 1
}
/file format/ {
	sub(/:.*/, "", $0)
	object = $0
	short = object
	sub(/^.*src\//, "", short)
}
# value flags section size name; the flags hold spaces, so count from the end
NF >= 4 {
	name = $NF
	section = $(NF - 2)
	if (name ~ /^\./ || name == section)
		next
	if (section !~ /^\.(data|bss|tdata|tbss)(\.|$)/ && section != "*COM*")
		next
	if (section ~ /^\.data\.rel\.ro/)
		next
	if (name ~ /^__(asan|ubsan|tsan|sanitizer|odr_asan|unnamed)/)
		next
	symbol = name
	sub(/\.[0-9]+$/, "", symbol)
	if ((short " " symbol) in ok)
		next
	printf "%s: %s is a mutable global (%s)\n", object, name, section
	bad++
}
END {
	if (bad)
		printf "globals: %d mutable\n", bad
	exit bad ? 1 : 0
}'
