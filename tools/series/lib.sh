# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts in tools/series; sourced, never run.
#
# State kept inside the git repository of the made tree ($TREE):
#   tag base               the pristine Debian source, one commit
#   refs/heads/series      base, our files, the hooks
#   refs/series/tip        what `tree` last made: HEAD there means no commits of the user's
#   refs/series/next       where an unfinished checkout is heading
#   .git/series/inputs     what the tip was made from (listing of blobs, see list_inputs)

set -o pipefail
export LC_ALL=C
self=$(basename "$0")
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# The base every default refers to. Its patches live in patches/$BASE.
BASE=6.12
BUILD=${BUILD:-$top/build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
mkdir -p "$BUILD"
BUILD=$(cd "$BUILD" && pwd -P)
export BUILD

# shellcheck disable=SC2034 # used by the scripts that source this
{
TREE=$BUILD/$BASE/linux
PATCHES=$top/patches/$BASE
STATE=$TREE/.git/series
OUR_DIRS=(include kernel Documentation tools/testing/selftests/sched_cache
	  tools/sched_cache tools/testing/llclab)
}

# A git that behaves the same for everyone: the user's configuration may
# change the form of patches (diff.noprefix, format.*, commit.gpgSign).
unset "${!GIT_@}"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
export GIT_CONFIG_KEY_1=core.quotePath GIT_CONFIG_VALUE_1=false

say() { printf '%s: %s\n' "$self" "$*" >&2; }
die() { say "$*"; exit 1; }

# Print the head comment of the script, after its SPDX line, as its help.
help_if_asked() {
	case ${1:-} in
	-h | --help)
		sed -n '3,$ { /^#/!q; s/^# \{0,1\}//p }' "$0"
		exit 0
		;;
	esac
}

# One writer in $BUILD at a time. Scripts that call each other share the lock.
take_lock() {
	[ "${SERIES_LOCKED:-}" != "$BUILD" ] || return 0
	exec 9>"$BUILD/.lock"
	if ! flock -n 9; then
		say "waiting for another make in $BUILD"
		flock 9
	fi
	export SERIES_LOCKED=$BUILD
	# Alone now: whatever lies here was left by a run that was killed.
	rm -rf "$BUILD"/.tmp.*
}

# A place for half-made things, on the file system of the results.
make_tmp() {
	TMP=$(mktemp -d "$BUILD/.tmp.XXXXXX")
	trap 'rm -rf "$TMP"' EXIT
}

git_tree() { git -C "$TREE" "$@"; }

ref() { git_tree rev-parse -q --verify "$1^{commit}" 2>/dev/null || true; }

base_version() { cat "$BUILD/base/$BASE/version"; }

# Hash the files named on stdin (NUL separated, relative to $1) into the
# tree's object store; print "mode blob<TAB>path" for each.
hash_files() {
	local dir=$1 path names=$TMP/hash.names modes=$TMP/hash.modes
	: >"$names"
	: >"$modes"
	while IFS= read -r -d '' path; do
		if [ -L "$dir/$path" ]; then
			printf '%s %s\t%s\n' 120000 "$(readlink -n "$dir/$path" |
				git_tree hash-object -w --stdin)" "$path"
			continue
		fi
		[ -f "$dir/$path" ] || continue
		if [ -x "$dir/$path" ]; then echo '100755 '; else echo '100644 '; fi >>"$modes"
		printf '%s\n' "$path" >>"$names"
	done
	(cd "$dir" && git --git-dir="$TREE/.git" hash-object -w --no-filters \
		--stdin-paths <"$names") | paste -d '' "$modes" - | paste - "$names"
}

# All our files as they are in the repository now, committed or not.
list_our_files() {
	git -C "$top" ls-files -z -co --exclude-standard -- "${OUR_DIRS[@]}" |
		sort -zu | hash_files "$top"
}

# Names in a series file, comments and blank lines dropped.
series_names() { sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$1"; }

# The patches of directory $1 in the order of its series file, and the message of
# the commit of our files, as "mode blob<TAB>name". A name that is listed but missing is an error.
list_patches() {
	local dir=$1 name
	[ -f "$dir/series" ] || die "$dir/series is missing: it lists the hook patches, one a line"
	while IFS= read -r name; do
		[ -f "$dir/$name" ] || die "$dir/series lists $name, which is not there"
	done < <(series_names "$dir/series")
	{
		series_names "$dir/series"
		[ ! -f "$dir/files.msg" ] || echo files.msg
	} | tr '\n' '\0' | hash_files "$dir"
}

# Everything the chain is made from; the same listing gives the same commits.
list_inputs() {
	printf 'base %s\n' "$(base_version)"
	printf 'tool %s\n' "$(git_tree hash-object "$top/tools/series/chain.sh")"
	list_our_files | sed 's/^/file /'
	list_patches "$PATCHES" | sed 's/^/patch /'
}

in_progress() {
	local what
	for what in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do
		[ ! -e "$TREE/.git/$what" ] || echo "$what"
	done
}

# Edits in the work tree that no commit holds: changed, staged and new files.
uncommitted() {
	git_tree status --porcelain --untracked-files=all --no-renames
}

# Variables given to our make, and what it exports, are not for the kernel's.
clean_make_environment() {
	unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL KCONFIG_CONFIG KBUILD_OUTPUT O
}
